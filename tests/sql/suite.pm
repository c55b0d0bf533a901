package My::Suite::Cairn;

@ISA = qw(My::Suite);
use strict;

return "doesn't work in embedded" if $::opt_embedded_server;

bless {};
