"""The lane: real servers and proxies as processes, the folders that they serve, and the applications behind them.

Each process has a configuration of its own, listens on loopback, and belongs to the user `nobody` where the tests run as root.
"""

import gzip
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any

from ..support.tls import certificate_and_key
from ..support.web import Content, Reply, Site, raw
from .applications import HALF, RULES
from .configurations import Row

STARTS_SECS = 60  # on a machine with ten times the work that it can do, too
ENDS_SECS = 15

LONG = b"User-agent: *\nDisallow: /private/\n" + b"".join(
    b"Disallow: /x/%d/\n" % n for n in range(400)
)
PAGE = b"<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1></body></html>\n"
PAGES = {
    "p.html": PAGE % (b"A page", b"A page"),
    "private/x.html": PAGE % (b"Private", b"Private"),
}
MAINTENANCE = {"maintenance.html": PAGE % (b"Back soon", b"We are working on it")}
MISSING = {"missing.html": PAGE % (b"Page not found", b"404 - Page not found")}
# The folders that servers serve, by the names that configurations use.
FOLDERS: dict[str, Mapping[str, bytes]] = {
    "rules": {"robots.txt": RULES, **PAGES},
    "none": {**MAINTENANCE, **MISSING, **PAGES},
    "errors": {"404.html": PAGE % (b"Not here", b"Not here")},
    "empty": {"robots.txt": b"", **PAGES},
    "application": {"index.html": PAGE % (b"Shop", b"Shop")},
    "long": {"robots.txt": LONG, **PAGES},
    "static": {"robots.txt.gz": gzip.compress(RULES), **PAGES},
    "zipped": {"robots.txt.gz": gzip.compress(RULES), **PAGES},
    "languages": {"robots.txt.de": RULES, "robots.txt.fr": RULES, **PAGES},
    "capital": {"Robots.txt": RULES, **PAGES},
    "folder": {"robots.txt/other.txt": RULES, **PAGES},
    "unreadable": {"robots.txt": RULES, **PAGES},
    "link": {"file.txt": RULES, **PAGES},
}


def _head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/plain", *lines, "", ""]).encode()


def _only_once() -> Content:
    """An application that answers one request, and closes all later connections."""
    asked = []

    def answer(connection: socket.socket) -> None:
        asked.append(connection)
        if len(asked) == 1:
            Reply(200, RULES, {"Content-Type": "text/plain", "Cache-Control": "max-age=1"})(
                connection
            )

    return answer


_PLAIN = Reply(200, RULES, {"Content-Type": "text/plain"})


def _fresh(connection: socket.socket) -> None:
    """Answer with what a cache needs."""
    headers = {
        "Content-Type": "text/plain",
        "Cache-Control": "max-age=100",
        "Date": formatdate(usegmt=True),
    }
    Reply(200, RULES, headers)(connection)


_LENGTH = f"Content-Length: {len(LONG)}"
_CHUNK = b"%x\r\n%s\r\n" % (len(HALF), HALF)
# What the applications behind servers answer to /robots.txt.
APPLICATIONS: dict[str, Callable[[], Content]] = {
    "fresh": lambda: _fresh,
    "once": _only_once,
    "site-a": lambda: _PLAIN,
    "site-b": lambda: _PLAIN,
    "site-c": lambda: _PLAIN,
    "site-d": lambda: _PLAIN,
    "site-e": lambda: _PLAIN,
    "site-f": lambda: _PLAIN,
    "site-g": lambda: _PLAIN,
    "hangs": lambda: raw(20.0),
    "cut-length": lambda: raw(_head(_LENGTH), HALF, 0.3),
    "cut-chunks": lambda: raw(_head("Transfer-Encoding: chunked"), _CHUNK, 0.3),
    "hints": lambda: raw(
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n",
        0.05,
        _head(f"Content-Length: {len(RULES)}", "Connection: close"),
        RULES,
    ),
}


class MissingError(Exception):
    """A program, or a package, that is not installed."""


def program(name: str) -> str:
    """The path of a server's program.

    Raises:
        MissingError: it is not installed.
    """
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if path is None:
        raise MissingError(f"{name} is not installed")
    return path


@cache
def account() -> dict[str, Any]:
    """Arguments of `Popen`: to be `nobody`, if the tests run as root."""
    if os.name != "posix" or os.geteuid():
        return {}
    import pwd

    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


@cache
def account_for_python() -> dict[str, Any]:
    """The same for this Python: `nobody` may not read a Python in root's home."""
    command = [sys.executable, "-c", "import h11"]
    with suppress(OSError):
        if not subprocess.run(
            command, cwd="/", check=False, capture_output=True, **account()
        ).returncode:
            return account()
    return {}


class Lane:
    """A folder for all servers, a port for each row, and the applications."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="servers-")))
        self.place.chmod(0o755)
        self.ports: dict[str, int] = {}
        # Sockets that do not listen: nobody else takes their ports, and connections to them are refused.
        self._held: dict[str, socket.socket] = {}
        # why rows cannot be tried, by software: what is missing, and what does not start
        self.missing: dict[str, str] = {}
        self.broken: dict[str, str] = {}
        self._make_folders()
        self.applications: dict[str, Site] = {}
        for name, make in APPLICATIONS.items():
            site = Site({"/robots.txt": make(), "*": b"a page"})
            self.applications[name] = stack.enter_context(site)

    def port(self, name: str) -> int:
        """The port of a row, or of what else has a name. Nobody listens there before `start` gives it to a server."""
        if name not in self.ports:
            self._held[name] = self._stack.enter_context(socket.socket())
            self.ports[name] = _bind_to_a_port(self._held[name])
        return self.ports[name]

    def _release(self, ports: Collection[int]) -> None:
        for name, port in self.ports.items():
            if port in ports:
                self._held[name].close()

    def _make_folders(self) -> None:
        for name, files in FOLDERS.items():
            for path, content in files.items():
                file = self.place / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        (self.place / "unreadable" / "robots.txt").chmod(0)
        (self.place / "link" / "robots.txt").symlink_to("file.txt")
        self.file("tls.pem", certificate_and_key().decode())

    def file(self, name: str, text: str) -> Path:
        """Write a file that belongs to the servers' user."""
        path = self.place / name
        path.write_text(text)
        self._give(path)
        return path

    def folder(self, name: str) -> Path:
        """Make a folder that the servers' user can write to."""
        path = self.place / name
        path.mkdir()
        self._give(path)
        return path

    def _give(self, path: Path) -> None:
        if account():
            shutil.chown(path, account()["user"], account()["group"])

    def filled_in(self, text: str, name: str = "") -> str:
        """A configuration of the row `name` with what stands for the words between `@`.

        `port`: the row's. `certificate`: a file with a certificate and its key. `root:NAME`: the path of a folder.
        `app:NAME`, `appport:NAME`: host and port of an application, and its port alone. `dead`, `dead:NAME`: a port that
        refuses connections. `port:NAME`: the port of another row.
        """

        def value(match: re.Match[str]) -> str:
            kind, _, of = match[1].partition(":")
            if kind == "root":
                return str(self.place / of)
            if kind == "app":
                return f"127.0.0.1:{self.applications[of].port}"
            if kind == "appport":
                return str(self.applications[of].port)
            if kind == "dead":
                return str(self.port(f"dead:{of}"))
            if kind == "port":
                return str(self.port(of or name))
            assert kind == "certificate", kind
            return str(self.place / "tls.pem")

        return re.sub(r"@([a-z]+(?::[\w.:-]+)?)@", value, text)

    def start_all(self, rows: Mapping[str, Row], only: Collection[str] = ()) -> None:
        """Start all that is installed, or `only` these, with the configurations of `rows`."""
        for software, start in SOFTWARE.items():
            if only and software not in only:
                continue
            of_it = {name: row for name, row in rows.items() if name.startswith(f"{software}:")}
            try:
                start(self, of_it)
            except MissingError as missing:
                self.missing[software] = str(missing)
            except AssertionError as error:
                self.broken[software] = str(error)

    def start(
        self,
        command: list[str],
        ports: Iterable[int],
        env: Mapping[str, str] | None = None,
        who: Mapping[str, Any] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a server, and wait until it listens on its ports. It ends with the lane.

        `who` are arguments of `Popen` that say as whom, if that is not `account`.
        """
        if who is None:
            who = account()
        ports = [*ports]
        self._release(ports)
        return self._stack.enter_context(_running(command, ports, self.place, who, env or {}))


@contextmanager
def _running(
    command: list[str],
    ports: list[int],
    place: Path,
    who: Mapping[str, Any],
    env: Mapping[str, str],
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server, which listens on `ports`, for a while. `who` are arguments of `Popen` that say as whom."""
    log = place / f"{Path(command[0]).name}-{ports[0]}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=place,
            env={**os.environ, "HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so its children are a group of their own
            **who,
        )
    try:
        ends = time.monotonic() + STARTS_SECS
        while not all(map(_is_open, ports)):
            said = f"{command}: {log.read_text(errors='replace')[-3000:]}"
            assert process.poll() is None, f"has ended: {said}"
            assert time.monotonic() < ends, f"does not listen: {said}"
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_SECS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _bind_to_a_port(holder: socket.socket) -> int:
    """Bind a socket to a free port below those that the system gives to clients, which need none in particular."""
    for port in random.sample(range(12_000, 32_000), 1000):
        with suppress(OSError):
            holder.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return not probe.connect_ex(("127.0.0.1", port))


# How each software is started: by its name in `configurations.SERVERS`.


def nginx(lane: Lane, rows: Mapping[str, Row]) -> None:
    path = program("nginx")
    folder = lane.folder("nginx")
    servers = []
    for name, row in rows.items():
        tls = " ssl" if row.scheme == "https" else ""
        http2 = " http2" if row.config.startswith("http2;") else ""
        config = lane.filled_in(row.config.removeprefix("http2;"), name)
        servers.append(f"server {{ listen 127.0.0.1:{lane.port(name)}{tls}{http2}; {config} }}")
    paths = [
        f"{kind}_temp_path {folder}/{kind};"
        for kind in "client_body proxy fastcgi uwsgi scgi".split()
    ]
    modules = Path("/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so")
    if not modules.exists():
        raise MissingError("nginx's brotli module is not installed")
    file = lane.file(
        "nginx.conf",
        f"load_module {modules};\n"
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n"
        "events { worker_connections 500; }\n"
        f"http {{ include /etc/nginx/mime.types; access_log off; {' '.join(paths)}\n"
        "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m;\n"
        "limit_req_zone $binary_remote_addr zone=b:1m rate=1r/m;\n"
        "limit_req_zone $binary_remote_addr zone=c:1m rate=1r/m;\n"
        f"proxy_cache_path {folder}/cache keys_zone=cache:1m;\n"
        + lane.filled_in("ssl_certificate @certificate@; ssl_certificate_key @certificate@;\n")
        + "\n".join(servers)
        + "\n}\n",
    )
    lane.start([path, "-e", f"{folder}/error.log", "-c", str(file)], _ports(lane, rows))


def apache(lane: Lane, rows: Mapping[str, Row]) -> None:
    path = program("apache2")
    folder = lane.folder("apache")
    modules = (
        "mpm_event authz_core authz_host authn_core authn_file auth_basic authz_user dir mime negotiation "
        "filter deflate headers rewrite speling ssl socache_shmcb proxy proxy_http"
    ).split()
    lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules]
    lines += [
        f"ServerRoot {folder}",
        f"DefaultRuntimeDir {folder}",
        "ServerName 127.0.0.1",
        f"PidFile {folder}/pid",
        f"ErrorLog {folder}/error.log",
        "StartServers 1\nThreadsPerChild 50\nMaxRequestWorkers 100",
        "Include /etc/apache2/mods-available/mime.conf",  # the distribution's own
        "DirectoryIndex index.html",
    ]
    for name, row in rows.items():
        tls = ""
        if row.scheme == "https":
            tls = "SSLEngine on\nSSLCertificateFile @certificate@\n"
        lines.append(f"Listen 127.0.0.1:{lane.port(name)}")
        config = lane.filled_in(tls + row.config, name)
        lines.append(f"<VirtualHost 127.0.0.1:{lane.port(name)}>\n{config}\n</VirtualHost>")
    file = lane.file("apache.conf", "\n".join([*lines, ""]))
    lane.start([path, "-f", str(file), "-D", "FOREGROUND"], _ports(lane, rows))


def caddy(lane: Lane, rows: Mapping[str, Row]) -> None:
    path = program("caddy")
    sites = ["{\nadmin off\nauto_https off\n}"]
    for name, row in rows.items():
        host = "shop.example" if "another-name" in row.id else "127.0.0.1"
        config = lane.filled_in(row.config, name)
        sites.append(f"http://{host}:{lane.port(name)} {{\nbind 127.0.0.1\n{config}\n}}")
    file = lane.file("Caddyfile", "\n".join([*sites, ""]))
    command = [path, "run", "--config", str(file), "--adapter", "caddyfile"]
    home = {
        "XDG_CONFIG_HOME": str(lane.folder("caddy")),
        "XDG_DATA_HOME": str(lane.place / "caddy"),
    }
    lane.start(command, _ports(lane, rows), env=home)


def lighttpd(lane: Lane, rows: Mapping[str, Row]) -> None:
    path = program("lighttpd")
    lines = [
        'server.modules = ("mod_access", "mod_proxy")',
        f'server.document-root = "{lane.place}/rules"',
        'server.bind = "127.0.0.1"',
        f"server.port = {lane.port('lighttpd')}",
        f'server.errorlog = "{lane.folder("lighttpd")}/error.log"',
        'mimetype.assign = (".html" => "text/html", ".txt" => "text/plain")',
    ]
    for name, row in rows.items():
        config = lane.filled_in(row.config, name)
        lines.append(f'$SERVER["socket"] == "127.0.0.1:{lane.port(name)}" {{\n{config}\n}}')
    file = lane.file("lighttpd.conf", "\n".join([*lines, ""]))
    lane.start([path, "-D", "-f", str(file)], [*_ports(lane, rows), lane.port("lighttpd")])


def haproxy(lane: Lane, rows: Mapping[str, Row]) -> None:
    path = program("haproxy")
    lines = [
        "defaults",
        "mode http",
        "timeout connect 5s",
        "timeout client 30s",
        "timeout server 30s",
    ]
    for name, row in rows.items():
        lines.append(f"listen {name.replace(':', '.')}\nbind 127.0.0.1:{lane.port(name)}")
        lines.append(lane.filled_in(row.config, name))
    file = lane.file("haproxy.cfg", "\n".join([*lines, ""]))
    lane.start([path, "-db", "-f", str(file)], _ports(lane, rows))


def varnish(lane: Lane, rows: Mapping[str, Row]) -> None:
    path = program("varnishd")
    lines = ["vcl 4.1;"]
    chosen = ["sub vcl_recv {", "set req.http.Host = local.socket;"]
    listen = []
    for number, (name, row) in enumerate(rows.items()):
        host, port = lane.filled_in(row.config, name).split(":")
        lines.append(f'backend b{number} {{ .host = "{host}"; .port = "{port}"; }}')
        chosen.append(f'if (local.socket == "s{number}") {{ set req.backend_hint = b{number}; }}')
        listen += ["-a", f"s{number}=127.0.0.1:{lane.port(name)}"]
    file = lane.file("varnish.vcl", "\n".join([*lines, *chosen, "}", ""]))
    folder = lane.folder("varnish")
    command = [
        path,
        "-F",
        "-j",
        "none",
        "-n",
        str(folder),
        "-f",
        str(file),
        *listen,
        "-s",
        "malloc,8m",
    ]
    lane.start([*command, "-p", "default_grace=3600"], _ports(lane, rows))


# It answers Squid whether a login, a line of its input, is right.
_LOGINS = """
while read -r login; do
    if [ "$login" = "staff secret" ]; then echo OK; else echo ERR; fi
done
"""


def squid(lane: Lane, rows: Mapping[str, Row]) -> None:
    """An accelerator for the rows, and the forward proxies "squid", "squid-that-denies" and "squid-with-a-login"."""
    path = program("squid")
    folder = lane.folder("squid")
    logins = lane.file("logins.sh", "#!/bin/sh\n" + _LOGINS)
    logins.chmod(0o755)
    lines = [
        f"pid_filename {folder}/pid",
        f"cache_log {folder}/cache.log",
        f"coredump_dir {folder}",
        "access_log none",
        "visible_hostname squid.example",
        "pinger_enable off",
        "shutdown_lifetime 1 second",
        "cache_mem 8 MB",
        f"auth_param basic program {logins}",
        "acl known proxy_auth REQUIRED",
    ]
    for number, (name, row) in enumerate(rows.items()):
        host, port = lane.filled_in(row.config, name).split(":")
        lines.append(
            f"http_port 127.0.0.1:{lane.port(name)} accel defaultsite=site-{number} name=p{number}"
        )
        lines.append(f"cache_peer {host} parent {port} 0 no-query originserver name=b{number}")
        lines.append(f"acl is{number} myportname p{number}")
        lines.append(
            f"cache_peer_access b{number} allow is{number}\ncache_peer_access b{number} deny all"
        )
        lines.append(f"never_direct allow is{number}\nhttp_access allow is{number}")
    proxies = {"squid": "allow", "squid-that-denies": "deny", "squid-with-a-login": "allow known"}
    for proxy, access in proxies.items():
        lines.append(f"http_port 127.0.0.1:{lane.port(proxy)} name={proxy}")
        lines.append(f"acl is-{proxy} myportname {proxy}")
        what, *who = access.split()
        lines.append(" ".join(["http_access", what, f"is-{proxy}", *who]))
        lines.append(f"always_direct allow is-{proxy}")
    file = lane.file("squid.conf", "\n".join([*lines, "http_access deny all", ""]))
    # Squids with the same name would share memory, so a Squid that runs on this machine would end this one.
    name = f"lane{os.getpid()}x{lane.port('squid')}"
    command = [path, "-N", "-n", name, "-f", str(file)]
    lane.start(command, [*_ports(lane, rows), *map(lane.port, proxies)])


def tinyproxy(lane: Lane, _: Mapping[str, Row]) -> None:
    path = program("tinyproxy")
    port = lane.port("tinyproxy")
    denied = lane.file("tinyproxy.filter", lane.filled_in("@app:site-d@\n"))
    file = lane.file(
        "tinyproxy.conf",
        f"Port {port}\nListen 127.0.0.1\nTimeout 30\nMaxClients 100\nLogLevel Error\n"
        f'LogFile "{lane.folder("tinyproxy")}/log"\nFilter "{denied}"\nFilterURLs On\n',
    )
    lane.start([path, "-d", "-c", str(file)], [port])


def privoxy(lane: Lane, _: Mapping[str, Row]) -> None:
    path = program("privoxy")
    port = lane.port("privoxy")
    folder = lane.folder("privoxy")
    file = lane.file(
        "privoxy.conf",
        f"listen-address 127.0.0.1:{port}\nconfdir /etc/privoxy\nlogdir {folder}\nlogfile log\ntoggle 0\n",
    )
    lane.start([path, "--no-daemon", str(file)], [port])


def gunicorn(lane: Lane, rows: Mapping[str, Row]) -> None:
    _package("gunicorn")
    for name, row in rows.items():
        where = f"127.0.0.1:{lane.port(name)}"
        command = [*PYTHON, "gunicorn", "-b", where, "--worker-tmp-dir", str(lane.place)]
        lane.start(
            [*command, f"applications:{row.config}"], [lane.port(name)], who=account_for_python()
        )


def hypercorn(lane: Lane, rows: Mapping[str, Row]) -> None:
    _package("hypercorn")
    for name, row in rows.items():
        command = [*PYTHON, "hypercorn", "-b", f"127.0.0.1:{lane.port(name)}"]
        if row.scheme == "https":
            pem = lane.filled_in("@certificate@")
            command += ["--certfile", pem, "--keyfile", pem]
        lane.start(
            [*command, f"applications:{row.config}"], [lane.port(name)], who=account_for_python()
        )


def vsftpd(lane: Lane, rows: Mapping[str, Row]) -> None:
    """It begins as root, shuts each login into its folder, and is `daemon` there, whose home exists."""
    path = program("vsftpd")
    if not account():
        raise MissingError(
            "vsftpd shuts a login into a folder only as root, and the tests do not run so"
        )
    for name, row in rows.items():
        empty = lane.place / f"empty-{lane.port(name)}"
        empty.mkdir()
        config = lane.place / f"vsftpd-{lane.port(name)}.conf"  # which has to be root's
        lines = [
            "listen=YES\nlisten_address=127.0.0.1\nbackground=NO\nxferlog_enable=NO\nseccomp_sandbox=NO",
            f"listen_port={lane.port(name)}\nsecure_chroot_dir={empty}",
            "ftp_username=daemon\nnopriv_user=nobody\nanonymous_enable=YES",
            lane.filled_in(row.config, name),
        ]
        config.write_text("\n".join([*lines, ""]))
        lane.start([path, str(config)], [lane.port(name)], who={})


def pyftpdlib(lane: Lane, rows: Mapping[str, Row]) -> None:
    _package("pyftpdlib")
    for name, row in rows.items():
        command = [*PYTHON, "pyftpdlib", "--interface=127.0.0.1", f"--port={lane.port(name)}"]
        command += lane.filled_in(row.config, name).split()
        lane.start(command, [lane.port(name)], who=account_for_python())


PYTHON = [sys.executable, "-m"]


def _package(name: str) -> None:
    from importlib.util import find_spec

    if find_spec(name) is None:
        raise MissingError(f"the package {name} is not installed")


def _ports(lane: Lane, rows: Mapping[str, Row]) -> list[int]:
    return [lane.port(name) for name in rows]


SOFTWARE: dict[str, Callable[[Lane, Mapping[str, Row]], None]] = {
    each.__name__: each
    for each in (
        nginx, apache, caddy, lighttpd, haproxy, varnish, squid, gunicorn, hypercorn, vsftpd, pyftpdlib, tinyproxy, privoxy,
    )
}  # fmt: skip
