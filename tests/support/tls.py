"""TLS for servers on loopback."""

import ssl
import tempfile
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path


@cache
def tls_context(*protocols: str) -> ssl.SSLContext:
    """The context of a server with a self-signed certificate for 127.0.0.1, and the protocols that it speaks by ALPN."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(timezone.utc)
    certificate = x509.CertificateBuilder(
        name, name, key.public_key(), 1, now, now + timedelta(days=1)
    )
    pem = certificate.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem += key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "tls.pem")
        file.write_bytes(pem)
        context.load_cert_chain(file)
    if protocols:
        context.set_alpn_protocols([*protocols])
    return context
