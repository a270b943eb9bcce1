"""The table: configurations that people run, what arrives from each, and what the origin has to become.

What is expected comes from the standards, and the id of a row begins with the clause: S is the specification that
docs/semantics.md tells, by number, and RFC a standard. `lane.Lane.filled_in` says what `@port@`, `@root:NAME@` and the like are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ALLOW, DISALLOW, OBEY = "full allow", "full disallow", "rules"
NOTHING_SAID: None = None
DAY = 86400.0


@dataclass(frozen=True)
class Row:
    """One configuration. `id` begins with the clause that says what is expected."""

    id: str
    config: str = ""
    # what arrives
    status: int | None = 200  # None: no HTTP answer
    headers: Mapping[str, str | None] = field(default_factory=dict)  # a part of each; None: absent
    whole: bool = True
    interim: tuple[int, ...] = ()
    times: int = 1  # how often the server is asked; the last answer counts
    # what becomes of it
    state: str = OBEY
    why: str = ""  # a part of the line in the log
    by: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # other states and reasons, by handler
    page: str = ""  # what becomes of the private page, where the state does not say it
    max_age: tuple[float, float] | None = (
        None  # seconds: least and most; None: the headers do not say
    )
    retry_after: float | None = None
    # how it is asked for
    scheme: str = "http"
    proxy: str = ""  # by which forward proxy
    target: str = ""  # what is asked for by it, in the place of a port of its own
    meta: Mapping[str, str] = field(default_factory=dict)
    behind: str = ""  # the software that has to be installed, too

    @property
    def private(self) -> str:
        """What has to become of the page that the rules forbid: "forbidden" or "fetched"."""
        return self.page or ("fetched" if self.state == ALLOW else "forbidden")


LOST = {
    "httpx": (DISALLOW, "not an HTTP answer")
}  # how that handler calls a connection that closes
TEXT = {"content-type": "text/plain"}
HTML = {"content-type": "text/html"}
SHORT = "the body ended early"

NGINX = [
    Row("S2.3-a-file", "root @root:rules@;", headers={"content-type": "text/plain", "content-encoding": None}),
    Row("S2.27-an-empty-file", "root @root:empty@;", headers={"content-length": "0"}, page="fetched"),
    Row("S2.14-limit-req-503", "root @root:rules@; location = /robots.txt { limit_req zone=a; }", times=2,
        status=503, headers={"retry-after": None, **HTML}, state=DISALLOW, why="HTTP 503"),
    Row("S2.12-limit-req-429", "root @root:rules@; location = /robots.txt { limit_req zone=b; limit_req_status 429; }", times=2,
        status=429, headers={"retry-after": None, **HTML}, state=DISALLOW, why="HTTP 429"),
    Row("S2.3-limit-req-but-for-robots.txt", "root @root:rules@; location / { limit_req zone=c; } location = /robots.txt { }", times=2),
    Row("S2.18-maintenance-loses-retry-after", "root @root:none@; error_page 503 /maintenance.html; add_header Retry-After 120;"
        " location / { return 503; } location = /maintenance.html { }",
        status=503, headers={"retry-after": None, **HTML}, state=DISALLOW, why="HTTP 503"),
    Row("S2.16-maintenance-always", "root @root:none@; error_page 503 /maintenance.html; add_header Retry-After 120 always;"
        " location / { return 503; } location = /maintenance.html { }",
        status=503, headers={"retry-after": "120", **HTML}, state=DISALLOW, why="HTTP 503", retry_after=120),
    Row("S2.4-maintenance-as-200", "root @root:none@; error_page 503 =200 /maintenance.html;"
        " location / { return 503; } location = /maintenance.html { }",
        headers=HTML, state=ALLOW, why="a web page"),
    Row("S2.19-not-found-as-500", "root @root:none@; error_page 404 =500 /missing.html;",
        status=500, headers=HTML, state=ALLOW, why='with a "not found" page'),
    Row("S2.14-broken-as-500", "root @root:none@; error_page 404 =500 /maintenance.html;",
        status=500, headers=HTML, state=DISALLOW, why="HTTP 500"),
    Row("S2.4-single-page-application", "root @root:application@; location / { try_files $uri /index.html; }",
        headers=HTML, state=ALLOW, why="a web page"),
    Row("S2.11-missing", "root @root:none@;", status=404, state=ALLOW, why="HTTP 404"),
    Row("S2.11-deny-all", "root @root:rules@; location / { deny all; }", status=403, state=ALLOW, why="HTTP 403"),
    Row("S2.11-gone", "root @root:none@; location = /robots.txt { return 410; }", status=410, state=ALLOW, why="HTTP 410"),
    Row("S2.11-a-password", 'root @root:rules@; auth_basic "staff"; auth_basic_user_file @root:none@/maintenance.html;',
        status=401, headers={"www-authenticate": "Basic"}, state=ALLOW, why="HTTP 401"),
    Row("S2.11-unreadable-file", "root @root:unreadable@;", status=403, state=ALLOW, why="HTTP 403"),
    Row("S2.11-no-symlinks", "root @root:link@; disable_symlinks on;", status=403, state=ALLOW, why="HTTP 403"),
    Row("S2.5-a-folder-of-that-name", "root @root:folder@;", status=301, headers={"location": "/robots.txt/"}, state=ALLOW,
        why="HTTP 403"),
    Row("RFC9110-8.4-gzip", "root @root:long@; gzip on; gzip_types text/plain;", headers={"content-encoding": "gzip",
        "transfer-encoding": "chunked"}),
    Row("RFC9110-8.4-brotli", "root @root:long@; brotli on; brotli_types text/plain;", headers={"content-encoding": "br"}),
    Row("RFC9110-8.4-gzip-static-unasked", "root @root:static@; gzip_static always;",
        headers={"content-encoding": "gzip", **TEXT}),
    Row("S4.1-another-media-type", "root @root:rules@; location = /robots.txt { types { } default_type application/octet-stream; }",
        headers={"content-type": "application/octet-stream"}),
    Row("S3.4-expires-10d", "root @root:rules@; location = /robots.txt { expires 10d; }",
        headers={"cache-control": "max-age=864000"}, max_age=(10 * DAY, 10 * DAY)),
    Row("S3.5-expires-never", "root @root:rules@; location = /robots.txt { expires -1; }",
        headers={"cache-control": "no-cache"}, max_age=(0, 0)),
    Row("S2.20-return-444", "return 444;", status=None, whole=False, state=DISALLOW, why="connection lost", by=LOST),
    Row("S2.20-100-bytes-a-second", "root @root:long@; location = /robots.txt { limit_rate 100; }", whole=False,
        state=DISALLOW, why="no answer in time"),
    Row("S2.14-application-is-down", "location / { proxy_pass http://127.0.0.1:@dead@; }", status=502,
        headers={"retry-after": None, **HTML}, state=DISALLOW, why="HTTP 502"),
    Row("S2.14-application-hangs", "location / { proxy_pass http://@app:hangs@; proxy_read_timeout 1s; }", status=504,
        headers={"retry-after": None}, state=DISALLOW, why="HTTP 504"),
    Row("S2.21-application-cut-by-length", "location / { proxy_pass http://@app:cut-length@; }", whole=False, state=DISALLOW,
        why=SHORT),
    Row("S2.3-application-cut-healed", "location / { proxy_pass http://127.0.0.1:@port:gunicorn:S2.21-application-fails-midway@; }",
        behind="gunicorn", page="fetched"),
    Row("S2.21-application-cut-http-1.1", "location / { proxy_http_version 1.1;"
        " proxy_pass http://127.0.0.1:@port:gunicorn:S2.21-application-fails-midway@; }",
        behind="gunicorn", whole=False, state=DISALLOW, why=SHORT),
    Row("S3.4-cache-without-age", "location / { proxy_pass http://@app:fresh@; proxy_cache cache; }", times=2,
        headers={"cache-control": "max-age=100", "age": None}, max_age=(100, 100)),
    Row("S2.8-to-https", "return 301 https://127.0.0.1:@port:nginx:S2.3-tls@$request_uri;", status=301),
    Row("S2.20-to-a-dead-port", "return 301 https://127.0.0.1:@dead@$request_uri;", status=301, state=DISALLOW,
        why="connection refused"),
    Row("S2.9-in-a-loop", "root @root:none@; location = /robots.txt { return 301 /a.txt; } location = /a.txt { return 302 /robots.txt; }",
        status=301, state=ALLOW, why="redirects in a loop"),
    Row("S2.5-five-redirects", "root @root:rules@; location = /robots.txt { return 301 /1; } location = /1 { return 302 /2; }"
        " location = /2 { return 303 /3; } location = /3 { return 307 /4; } location = /4 { return 308 /5; }"
        " location = /5 { alias @root:rules@/robots.txt; }", status=301),
    Row("S2.5-six-redirects", "root @root:rules@; location = /robots.txt { return 301 /1; } location = /1 { return 302 /2; }"
        " location = /2 { return 303 /3; } location = /3 { return 307 /4; } location = /4 { return 308 /5; }"
        " location = /5 { return 301 /6; } location = /6 { alias @root:rules@/robots.txt; }", status=301, state=ALLOW,
        why="after 5 redirects"),
    Row("S2.3-tls", "root @root:rules@;", scheme="https", by={"h2": (DISALLOW, "has no HTTP/2")}),
    Row("S2.3-tls-http2", "http2; root @root:rules@;", scheme="https"),
    Row("S2.20-http2-goaway", "http2; root @root:rules@; keepalive_requests 1;", scheme="https",
        by={"h2": (DISALLOW, "not an HTTP answer")}),
    Row("S2.11-client-certificate", "http2; root @root:rules@; ssl_verify_client on; ssl_client_certificate @certificate@;", scheme="https",
        status=400, state=ALLOW, why="HTTP 400"),
    Row("S2.20-unknown-name", "ssl_reject_handshake on;", scheme="https", status=None, whole=False, state=DISALLOW,
        why="TLS failed"),
]  # fmt: skip

APACHE = [
    Row("S2.3-a-file", "DocumentRoot @root:rules@", headers=TEXT),
    Row("S4.5-multiviews-robots.txt.gz", "DocumentRoot @root:zipped@\n<Directory @root:zipped@>\nOptions +MultiViews\n</Directory>",
        headers={"content-type": "application/x-gzip", "content-encoding": None, "content-location": "robots.txt.gz"},
        state=ALLOW, why="gzip data"),
    Row("RFC9110-8.4-multiviews-addencoding", "DocumentRoot @root:zipped@\n<Directory @root:zipped@>\nOptions +MultiViews\n"
        "RemoveType .gz\nAddEncoding x-gzip .gz\n</Directory>", headers={"content-encoding": "gzip", **TEXT}),
    Row("S2.11-languages-406", "DocumentRoot @root:languages@\n<Directory @root:languages@>\nOptions +MultiViews\n"
        "ForceLanguagePriority None\n</Directory>", status=406, state=ALLOW, why="HTTP 406"),
    Row("S2.3-languages-fallback", "DocumentRoot @root:languages@\n<Directory @root:languages@>\nOptions +MultiViews\n"
        "LanguagePriority de fr\nForceLanguagePriority Prefer Fallback\n</Directory>", headers={"content-language": "de"}),
    Row("S4.1-default-charset", "DocumentRoot @root:rules@\nAddDefaultCharset utf-16", headers={"content-type": "utf-16"}),
    Row("S2.5-mod-speling", "DocumentRoot @root:capital@\nCheckSpelling on", status=301, headers={"location": "/Robots.txt"}),
    Row("S2.5-errordocument-as-url", "DocumentRoot @root:none@\nErrorDocument 404 http://127.0.0.1:@port@/maintenance.html", status=302,
        state=ALLOW, why="a web page"),
    Row("S2.11-errordocument-as-path", "DocumentRoot @root:none@\nErrorDocument 404 /maintenance.html", status=404, headers=HTML,
        state=ALLOW, why="HTTP 404"),
    Row("S2.18-maintenance-loses-retry-after", 'DocumentRoot @root:none@\nRewriteEngine on\nRewriteRule "" "-" [R=503,L]\n'
        "Header set Retry-After 120", status=503, headers={"retry-after": None}, state=DISALLOW, why="HTTP 503"),
    Row("S2.16-maintenance-page-keeps-retry-after", "DocumentRoot @root:none@\nErrorDocument 503 /maintenance.html\n"
        'RewriteEngine on\nRewriteCond "%{REQUEST_URI}" "!=/maintenance.html"\nRewriteRule "" "-" [R=503,L]\n'
        "Header set Retry-After 120", status=503, headers={"retry-after": "120"}, state=DISALLOW, why="HTTP 503",
        retry_after=120),
    Row("S2.16-maintenance-always", "DocumentRoot @root:none@\nRewriteEngine on\n"
        'RewriteRule "" "-" [R=503,L]\nHeader always set Retry-After 120', status=503, headers={"retry-after": "120"}, state=DISALLOW, why="HTTP 503",
        retry_after=120),
    Row("RFC9110-8.4-deflate", "DocumentRoot @root:long@\nAddOutputFilterByType DEFLATE text/plain",
        headers={"content-encoding": "gzip"}),
    Row("S2.11-unreadable-file", "DocumentRoot @root:unreadable@", status=403, state=ALLOW, why="HTTP 403"),
    Row("S2.11-a-password", 'DocumentRoot @root:rules@\n<Location />\nAuthType Basic\nAuthName "staff"\nAuthBasicProvider file\n'
        "AuthUserFile @root:none@/maintenance.html\nRequire valid-user\n</Location>", status=401, state=ALLOW, why="HTTP 401"),
    Row("S2.14-application-is-down", "ProxyPass / http://127.0.0.1:@dead@/", status=503, headers={"retry-after": None},
        state=DISALLOW, why="HTTP 503"),
    Row("S2.21-application-cut-by-length", "ProxyPass / http://@app:cut-length@/", whole=False, state=DISALLOW, why=SHORT),
    Row("S2.21-application-cut-chunks", "ProxyPass / http://@app:cut-chunks@/", whole=False, state=DISALLOW, why=SHORT),
    Row("S2.20-client-certificate", "DocumentRoot @root:rules@\nSSLVerifyClient require\nSSLCACertificateFile @certificate@",
        scheme="https", status=None, whole=False, state=DISALLOW, why="TLS failed"),
]  # fmt: skip

CADDY = [
    Row("S2.3-a-file", "root * @root:rules@\nfile_server", headers=TEXT),
    Row("S2.11-missing", "root * @root:none@\nfile_server", status=404, headers={"content-length": "0"}, state=ALLOW, why="HTTP 404"),
    Row("S2.4-single-page-application", "root * @root:application@\ntry_files {path} /index.html\nfile_server", headers=HTML, state=ALLOW,
        why="a web page"),
    Row("S2.27-another-name", "root * @root:rules@\nfile_server", headers={"content-length": "0"}, page="fetched"),
    Row("S2.11-another-name-answered", "root * @root:rules@\nfile_server\n}\nhttp://:@port@ {\nbind 127.0.0.1\nrespond 404", status=404,
        state=ALLOW, why="HTTP 404"),
    Row("RFC9110-8.4-gzip", "root * @root:long@\nencode gzip\nfile_server", headers={"content-encoding": "gzip"}),
    Row("S2.14-application-is-down", "reverse_proxy 127.0.0.1:@dead@", status=502, headers={"content-length": "0"}, state=DISALLOW,
        why="HTTP 502"),
    Row("S2.21-application-cut-by-length", "reverse_proxy @app:cut-length@", whole=False, state=DISALLOW, why=SHORT),
    Row("S2.3-application-cut-healed", "reverse_proxy @app:cut-chunks@", page="fetched"),
]  # fmt: skip

LIGHTTPD = [
    Row("S2.3-a-file", 'server.document-root = "@root:rules@"', headers=TEXT),
    Row("S2.11-missing", 'server.document-root = "@root:none@"', status=404, headers=HTML, state=ALLOW, why="HTTP 404"),
    Row("S2.4-error-handler-says-200", 'server.document-root = "@root:none@"\nserver.error-handler-404 = "/maintenance.html"',
        headers=HTML, state=ALLOW, why="a web page"),
    Row("S2.11-errorfile", 'server.document-root = "@root:none@"\nserver.errorfile-prefix = "@root:errors@/"', status=404,
        headers=HTML, state=ALLOW, why="HTTP 404"),
    Row("S2.11-access-deny", 'server.document-root = "@root:rules@"\nurl.access-deny = (".txt")', status=403, state=ALLOW,
        why="HTTP 403"),
    Row("S2.5-a-folder-of-that-name", 'server.document-root = "@root:folder@"', status=301, headers={"location": "/robots.txt/"},
        state=ALLOW, why="HTTP 40"),
    Row("S2.3-application-cut-healed", 'proxy.server = ("" => (("host" => "127.0.0.1", "port" => @appport:cut-chunks@)))',
        page="fetched"),
    Row("S2.21-application-cut-by-length", 'proxy.server = ("" => (("host" => "127.0.0.1", "port" => @appport:cut-length@)))',
        whole=False, state=DISALLOW, why=SHORT),
    Row("S2.14-application-is-down", 'proxy.server = ("" => (("host" => "127.0.0.1", "port" => @dead@)))', status=503,
        state=DISALLOW, why="HTTP 503"),
]  # fmt: skip

HAPROXY = [
    Row("S2.3-early-hints", "server one @app:hints@", interim=(103,), headers=TEXT),
    Row("S2.14-no-server", "# no server", status=503, headers={"retry-after": None, "cache-control": "no-cache"}, state=DISALLOW,
        why="HTTP 503"),
    Row("S2.14-server-is-down", "server one 127.0.0.1:@dead@", status=503, headers={"retry-after": None}, state=DISALLOW,
        why="HTTP 503"),
    Row("S2.14-server-hangs", "timeout server 1s\nserver one @app:hangs@", status=504, headers={"retry-after": None}, state=DISALLOW,
        why="HTTP 504"),
    Row("S2.12-deny-429", "http-request deny deny_status 429", status=429, headers={"retry-after": None}, state=DISALLOW,
        why="HTTP 429"),
    Row("S2.11-deny", "http-request deny if { path /robots.txt }\nserver one @app:fresh@", status=403,
        headers={"cache-control": "no-cache"}, state=ALLOW, why="HTTP 403", max_age=(0, 0)),
    Row("S2.14-tarpit", "timeout tarpit 1s\nhttp-request tarpit", status=500, state=DISALLOW, why="HTTP 500"),
    Row("S2.20-silent-drop", "http-request reject", status=None, whole=False, state=DISALLOW, why="connection lost", by=LOST),
    Row("S2.21-application-cut-chunks", "server one @app:cut-chunks@", whole=False, state=DISALLOW, why=SHORT),
    Row("S2.21-application-cut-by-length", "server one @app:cut-length@", whole=False, state=DISALLOW, why=SHORT),
]  # fmt: skip

VARNISH = [
    Row("S3.4-cache-with-age", "@app:fresh@", times=2, headers={"cache-control": "max-age=100", "age": ""}, max_age=(0, 99.9)),
    Row("S3.4-stale-in-grace", "@app:once@", times=2, headers={"cache-control": "max-age=1"}, max_age=(0, 0)),
    Row("S2.16-backend-is-down", "127.0.0.1:@dead@", status=503, headers={"retry-after": "5", **HTML}, state=DISALLOW,
        why="HTTP 503", retry_after=5),
    Row("S2.21-application-cut-chunks", "@app:cut-chunks@", whole=False, state=DISALLOW, why=SHORT),
]  # fmt: skip

SQUID = [  # as an accelerator, before an application
    Row("S3.4-cache-with-age", "@app:fresh@", times=2, headers={"cache-control": "max-age=100", "age": "", "x-cache": "HIT"},
        max_age=(0, 99.9)),
    Row("S2.21-application-cut-chunks", "@app:cut-chunks@", whole=False, state=DISALLOW, why=SHORT),
    Row("S2.20-application-is-down", "127.0.0.1:@dead@", status=502, headers={"x-squid-error": "ERR_"}, state=DISALLOW,
        why="HTTP 502"),
]  # fmt: skip

GUNICORN = [
    Row("S2.21-application-fails-midway", "wsgi_half", whole=False, state=DISALLOW, why=SHORT)
]
HYPERCORN = [
    Row("S2.21-application-fails-midway", "asgi_half", whole=False, state=DISALLOW, why=SHORT),
    Row("S2.3-http2", "asgi_whole", scheme="https"),
    Row(
        "S2.3-http2-early-hints", "asgi_hints", scheme="https"
    ),  # which hypercorn sends over HTTP/2 alone
]

VSFTPD = [
    Row("S2.3-a-file", "anon_root=@root:rules@", scheme="ftp"),
    Row("S2.28-missing-550", "anon_root=@root:none@", scheme="ftp", state=ALLOW, why="FTP 550"),
    Row("S2.28-unreadable-550", "anon_root=@root:unreadable@", scheme="ftp", state=ALLOW, why="FTP 550"),
    Row("S2.28-anonymous-530", "anonymous_enable=NO\nlocal_enable=YES", scheme="ftp", state=DISALLOW, why="login refused"),
    Row("S2.28-no-passive-mode", "anon_root=@root:rules@\npasv_enable=NO", scheme="ftp", state=DISALLOW, why="550"),
    Row("S2.28-tls-demanded", "anon_root=@root:rules@\nssl_enable=YES\nrsa_cert_file=@certificate@\nallow_anon_ssl=YES\n"
        "force_anon_logins_ssl=YES", scheme="ftp", state=DISALLOW, why="530"),
]  # fmt: skip
PYFTPDLIB = [
    Row("S2.3-a-file", "--directory=@root:rules@", scheme="ftp"),
    Row("S2.28-missing-550", "--directory=@root:none@", scheme="ftp", state=ALLOW, why="FTP 550"),
    Row("S2.28-anonymous-530", "--directory=@root:rules@ --username=staff --password=secret", scheme="ftp", state=DISALLOW,
        why="login refused"),
    Row("S2.28-anonymous-530-and-a-login", "--directory=@root:rules@ --username=staff --password=secret", scheme="ftp",
        meta={"ftp_user": "staff", "ftp_password": "secret"}),
    Row("S2.28-anonymous-530-and-a-wrong-login", "--directory=@root:rules@ --username=staff --password=secret", scheme="ftp",
        meta={"ftp_user": "staff", "ftp_password": "wrong"}, state=DISALLOW, why="login refused"),
]  # fmt: skip

# What forward proxies answer by themselves. The site behind them always has the same rules.
PROXIES = [
    Row("S2.3-squid-passes-it-on", proxy="squid", target="@app:site-a@", headers={"x-squid-error": None}),
    Row("S2.20-squid-to-a-dead-port", proxy="squid", target="127.0.0.1:@dead@", status=503,
        headers={"x-squid-error": "ERR_CONNECT_FAIL"}, state=DISALLOW, why="HTTP 503"),
    Row("S2.11-squid-407", proxy="squid-with-a-login", target="@app:site-b@", status=407, headers={"x-squid-error": "ERR_CACHE_ACCESS_DENIED"},
        state=DISALLOW, why="the proxy failed"),
    Row("S2.3-squid-407-and-a-login", proxy="staff:secret@squid-with-a-login", target="@app:site-e@"),
    Row("S2.3-squid-connect", proxy="squid", target="localhost:@port:nginx:S2.3-tls@", scheme="https", behind="nginx"),
    Row("S2.11-squid-connect-407", proxy="squid-with-a-login", target="127.0.0.1:@dead:tls-and-a-login@", scheme="https", status=407,
        state=DISALLOW, why="the proxy failed"),
    Row("S2.20-squid-connect-403", proxy="squid-that-denies", target="127.0.0.1:@dead:tls@", scheme="https", status=403,
        state=DISALLOW, why="the proxy failed"),
    Row("S2.20-squid-403", proxy="squid-that-denies", target="@app:site-g@", status=403, headers={"x-squid-error": "ERR_ACCESS_DENIED"},
        state=DISALLOW, why="ERR_ACCESS_DENIED"),
    Row("S2.3-tinyproxy-passes-it-on", proxy="tinyproxy", target="@app:site-c@"),
    Row("S2.11-tinyproxy-403", proxy="tinyproxy", target="@app:site-d@", status=403, state=ALLOW, why="through the proxy"),
    Row("S2.14-tinyproxy-to-a-dead-port", proxy="tinyproxy", target="127.0.0.1:@dead:tinyproxy@", status=500, state=DISALLOW,
        why="HTTP 500"),
    Row("S2.3-privoxy-passes-it-on", proxy="privoxy", target="@app:site-f@"),
    Row("S2.11-privoxy-no-such-domain", proxy="privoxy", target="nosuch.invalid", status=404, state=ALLOW, why="HTTP 404",
        max_age=(0, 0)),
    Row("S2.14-privoxy-to-a-dead-port", proxy="privoxy", target="127.0.0.1:@dead:privoxy@", status=503, state=DISALLOW,
        why="HTTP 503"),
]  # fmt: skip

SERVERS: dict[str, list[Row]] = {
    "nginx": NGINX,
    "apache": APACHE,
    "caddy": CADDY,
    "lighttpd": LIGHTTPD,
    "haproxy": HAPROXY,
    "varnish": VARNISH,
    "squid": SQUID,
    "gunicorn": GUNICORN,
    "hypercorn": HYPERCORN,
    "vsftpd": VSFTPD,
    "pyftpdlib": PYFTPDLIB,
}


def every_row() -> Iterator[tuple[str, Row]]:
    """All rows by their names, such as nginx:S2.3-a-file; the software of proxies' rows is the proxy."""
    for software, rows in SERVERS.items():
        for row in rows:
            yield f"{software}:{row.id}", row
    for row in PROXIES:
        yield f"proxy:{row.id}", row
