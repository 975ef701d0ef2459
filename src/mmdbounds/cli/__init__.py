"""The command line: one command a public function, in files by the sections of the help; computes nothing."""
