#!/bin/sh
# Versions: Django 5.2.19.
# Django 5.2.19: with CommonMiddleware (in every new project) and a catch-all route such as "<str:name>/",
# /robots.txt is not a 404 but a redirect to /robots.txt/, which is an HTML page with status 200. So a
# crawler gets a web page for a robots.txt that does not exist.
# Seen: 301 /robots.txt/, then 200 text/html.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'django==5.2.19'
cat > finding.py <<'PY'
import django
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="not-a-secret",
)
django.setup()

from django.http import HttpResponse
from django.test import Client
from django.urls import path


def page(request, name):
    return HttpResponse(f"<h1>{name}</h1>")


urlpatterns = [path("<str:name>/", page)]

client = Client()
first = client.get("/robots.txt")
second = client.get(first["Location"])
seen = first.status_code, first["Location"], second.status_code, second["Content-Type"]
print(seen)
assert seen == (301, "/robots.txt/", 200, "text/html; charset=utf-8")
PY
v/bin/python finding.py
