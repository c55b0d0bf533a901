"""The settings that Django's own test suite runs with: two databases of one server.

Only the server says which engine tables have. Everything else is as in the settings that come with
the suite.
"""

import os

_DATABASE = {
    "ENGINE": "django.db.backends.mysql",
    "USER": "root",
    "HOST": os.environ["CAIRN_SOCKET"],
    "TEST": {"CHARSET": "utf8mb4"},
}
DATABASES = {
    "default": {**_DATABASE, "NAME": "django_default"},
    "other": {**_DATABASE, "NAME": "django_other"},
}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "cairn_django_runner.RecordingRunner"
