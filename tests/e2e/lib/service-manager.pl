#!/usr/bin/perl
# A service manager in small: service-manager.pl [NAME=VALUE…] -- COMMAND ARG…
#   notify=/path or @abstract   where it listens for what the command tells; each datagram becomes a line "notify …" on
#                               stdout, with \n for its line ends
#   listen=ADDRESS:PORT         passes a listening socket (socket activation), port 0 picks one; "listening ADDRESS:PORT"
#                               comes first on stdout. In the command's arguments %s stands for what was bound
#   name=NAME                   LISTEN_FDNAMES
#   watchdog=USEC
# Its signals HUP and TERM are the command's; "exit CODE" is the last line.
use strict;
use warnings;
use IO::Select;
use POSIX ();
use Socket;

my %of;
while (@ARGV and (my $word = shift @ARGV) ne '--') {
  my ($name, $value) = split /=/, $word, 2;
  $of{$name} = $value;
}
$| = 1;
my $bound = '';
my $listener;
if ($of{listen}) {
  my ($host, $port) = $of{listen} =~ /^(.*):(\d+)$/;
  socket($listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
  bind($listener, pack_sockaddr_in($port, inet_aton($host))) or die "bind: $!";
  listen($listener, 16) or die "listen: $!";
  $bound = "$host:" . (unpack_sockaddr_in(getsockname($listener)))[0];
  print "listening $bound\n";
}
my $notify;
if ($of{notify}) {
  socket($notify, PF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
  (my $name = $of{notify}) =~ s/^@/\0/;
  # An abstract name is as long as it is; pack_sockaddr_un would fill it up.
  my $address = $name =~ /^\0/ ? pack('S', AF_UNIX) . $name : pack_sockaddr_un($name);
  bind($notify, $address) or die "bind $of{notify}: $!";
  $ENV{NOTIFY_SOCKET} = $of{notify};
}
$ENV{WATCHDOG_USEC} = $of{watchdog} if $of{watchdog};
my $pid = fork // die "fork: $!";
if (!$pid) {
  if ($listener) {
    # 3, and open across exec.
    POSIX::dup2(fileno $listener, 3) // die "dup2: $!" if fileno($listener) != 3;
    use Fcntl;
    open(my $third, '<&=', 3) or die "3: $!";
    fcntl($third, F_SETFD, 0) or die "fcntl: $!";
    $ENV{LISTEN_FDS} = 1;
    $ENV{LISTEN_FDNAMES} = $of{name} if $of{name};
    $ENV{LISTEN_PID} = $$;
    s/%s/$bound/g for @ARGV;
    exec { $ARGV[0] } @ARGV or POSIX::_exit(127);
  }
  exec { $ARGV[0] } @ARGV or POSIX::_exit(127);
}
close $listener if $listener and $of{leave};
$SIG{$_} = sub { kill $_[0], $pid } for qw(HUP TERM);
my $select = IO::Select->new($notify ? $notify : ());
my $exit;
while (1) {
  my $got = 0;
  if ($notify) {
    for ($select->can_read(0.05)) {
      recv($notify, my $text, 4096, 0);
      $text =~ s/\n/\\n/g;
      print "notify $text\n";
      $got = 1;
    }
  } else {
    select(undef, undef, undef, 0.05);
  }
  last if defined $exit and !$got;
  $exit = $? if !defined $exit and waitpid($pid, POSIX::WNOHANG()) == $pid;
}
print 'exit ', $exit >> 8, "\n";
