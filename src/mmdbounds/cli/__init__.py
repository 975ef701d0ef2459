"""The command line: one file a command, one command a public function; nothing is computed here."""
