"""TLS for servers on loopback."""

import ssl
import tempfile
from datetime import datetime, timedelta, timezone
from functools import cache
from ipaddress import ip_address
from pathlib import Path


@cache
def certificate_and_key() -> bytes:
    """Return a self-signed certificate for 127.0.0.1 and its key, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    host = "127.0.0.1"
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), 1, now - timedelta(minutes=1), now + timedelta(days=1)
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@cache
def tls_context(*protocols: str) -> ssl.SSLContext:
    """Return the TLS context of a server with this certificate. It offers `protocols` by ALPN."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "tls.pem")
        file.write_bytes(certificate_and_key())
        context.load_cert_chain(file)
    if protocols:
        context.set_alpn_protocols([*protocols])
    return context
