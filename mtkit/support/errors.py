"""The one exception for what a user can mend. Anything else that escapes a command is a fault of ours (exit code 1)."""


class UserError(Exception):
    """A mistake the user can mend: the message names the file, line or key, the value found and what to do.

    The command line prints `Error: message` on stderr without a traceback and exits with code 2.
    """
