"""Signing in from a browser: a cookie that scripts cannot read stands for the password or key that was shown."""
