# A guest that stays, and its commands. For kept.sh, which starts each of the parts:
#   keep FOLDER IDLE COMMAND...  starts the guest by COMMAND, whose input and output lead to the part 'serve' in it. Passes on
#                                what clients and the guest say to each other, and ends the guest when told to, or after IDLE
#                                seconds without a command
#   serve FOLDER CACHES          in the guest: runs the commands. FOLDER/groups has the control groups, CACHES is the kernel's file
#                                that drops caches
#   run FOLDER SPARE INPUT MERGED TIMEOUT COMMAND...
#                                a client: runs the script of descriptor 3 in the guest, with its own input and output, and
#                                returns its status. COMMAND is what it does if the guest has just ended. SPARE is 'no'; 'use':
#                                take the process that waits for the same script and streams, if there is one, and start the
#                                next one; or 'make': only start one
#   ask FOLDER WORD              a client: prints the keeper's answer
use strict;
use warnings;
use Errno qw(EAGAIN EINTR);
use Fcntl;
use IO::Select;
use POSIX ();
use Socket;

# A frame is the number of its command, its kind, the number of its bytes, and these. The kinds:
#   to the guest    S settings and a script to start   I input, empty at its end   R rows and columns of the terminal
#                   A so many bytes of output have been taken   K the client is gone, end the command
#   from the guest  O output   E error output   A so many bytes of input have been taken   X exit status
#   to a client     H the keeper listens   T an answer, to a question of kind Q
use constant WINDOW => 1 << 17; # bytes on their way in one direction that were not taken: nobody stores more of a command
use constant START_LIMIT => 180; # seconds until the first command comes
use constant FIRST_SPARE => 1 << 31; # number of the first command that was started before a client came for it
use constant PART   => 1 << 15; # bytes of a frame of input or output

# A stream of frames, which never waits.
package Port {
    use Errno qw(EAGAIN EINTR);

    sub new {
        my ($class, $in, $out) = @_;
        for my $stream ($in, $out) {
            fcntl($stream, Fcntl::F_SETFL, fcntl($stream, Fcntl::F_GETFL, 0) | Fcntl::O_NONBLOCK) or die "fcntl: $!\n";
        }
        return bless { in => $in, out => $out, got => '', unsent => '' }, $class;
    }

    sub give {
        my ($self, $number, $kind, $bytes) = @_;
        $self->{unsent} .= pack('N a N a*', $number, $kind, length $bytes, $bytes);
        $self->flush;
    }

    # Sends what the stream takes now. If the other side is gone, receive tells.
    sub flush {
        my ($self) = @_;
        while (length $self->{unsent}) {
            my $sent = syswrite $self->{out}, $self->{unsent};
            if (defined $sent) { substr($self->{unsent}, 0, $sent) = '' }
            elsif ($! == EAGAIN) { return }
            elsif ($! != EINTR) { $self->{unsent} = '' }
        }
    }

    # Returns the frames that have come, each as a list of its number, kind and bytes; nothing at all if the stream has ended.
    sub receive {
        my ($self) = @_;
        my $got = sysread $self->{in}, $self->{got}, 1 << 16, length $self->{got};
        if (!$got && (defined $got || $! != EAGAIN && $! != EINTR)) { return }
        my @frames;
        while (length $self->{got} >= 9) {
            my ($number, $kind, $length) = unpack 'N a N', $self->{got};
            last if length $self->{got} < 9 + $length;
            push @frames, [$number, $kind, substr $self->{got}, 9, $length];
            substr($self->{got}, 0, 9 + $length) = '';
        }
        return \@frames;
    }
}

# ready SECONDS READERS WRITERS: waits until streams are ready, and returns those to read, and those to write.
sub ready {
    my ($seconds, $readers, $writers) = @_;
    my ($read, $write) = IO::Select->select(IO::Select->new(@$readers), IO::Select->new(@$writers), undef, $seconds);
    return ($read // [], $write // []);
}

# The keeper

sub keep {
    my ($folder, $idle, @command) = @_;
    chdir $folder or die "$folder: $!\n";
    POSIX::close($_) for 3 .. 6, 8 .. 255; # what the shell had open, but for the lock
    socket(my $server, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!\n";
    bind($server, pack_sockaddr_un('new')) && listen($server, 64) && rename('new', 'socket') or die "socket: $!\n";
    my ($guest, $pid) = start_guest(@command);
    my $end = 0;
    $SIG{$_} = sub { $end = 1 } for qw(TERM HUP INT);
    $SIG{PIPE} = 'IGNORE';
    my (%clients, %running); # by number: the ports of clients, and the commands whose status has not come
    my ($last, $used) = (0, time + START_LIMIT);
    while (!$end && -S 'socket') {
        if (%running) { $used = time }
        if (time - $used >= $idle && !%clients) { last }
        my ($read) = ready(
            1,
            [$server, $guest->{in}, map { $_->{in} } values %clients],
            [map { $_->{out} } grep { length $_->{unsent} } $guest, values %clients]
        );
        $_->flush for $guest, values %clients;
        my %ready = map { $_ => 1 } @$read;
        if ($ready{$server} && accept(my $socket, $server)) {
            $clients{ ++$last } = Port->new($socket, $socket);
            $clients{$last}->give(0, 'H', '');
        }
        if ($ready{ $guest->{in} }) {
            my $frames = $guest->receive or last;
            for (@$frames) {
                my ($number, $kind, $bytes) = @$_;
                if ($kind eq 'X') { delete $running{$number} }
                if ($clients{$number}) { $clients{$number}->give(0, $kind, $bytes) }
            }
        }
        for my $number (grep { $ready{ $clients{$_}{in} } } keys %clients) {
            my $frames = $clients{$number}->receive;
            if (!$frames) {
                delete $clients{$number};
                if ($running{$number}) { $guest->give($number, 'K', '') }
                next;
            }
            for (@$frames) {
                my (undef, $kind, $bytes) = @$_;
                if ($kind eq 'S') { $running{$number} = 1 }
                if ($kind ne 'Q') { $guest->give($number, $kind, $bytes) }
                elsif ($bytes eq 'down') { $end = 1 }
                else {
                    my $count = keys %running;
                    my $left = $idle - (time - $used);
                    $clients{$number}->give(0, 'T',
                        $count == 1 ? 'a command runs' : $count ? "$count commands run" : "ends in $left s without a command");
                }
            }
        }
    }
    kill 'TERM', $pid;
    waitpid $pid, 0;
    chdir '/';
    exec 'rm', '-rf', $folder;
}

# Starts the script that runs the guest, and ends it if the keeper is killed.
sub start_guest {
    my @command = @_;
    pipe(my $from, my $out) && pipe(my $in, my $to) or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        open(STDIN, '<&', $in) && open(STDOUT, '>&', $out) or POSIX::_exit(126);
        { exec 'setpriv', '--pdeathsig', 'TERM', @command }
        POSIX::_exit(127);
    }
    return (Port->new($from, $to), $pid);
}

# In the guest

my ($place, $caches);
my %commands; # by their numbers
my $spare = FIRST_SPARE; # the number of the command that waits for a client, if there is one
my $keeper;

sub serve {
    ($place, $caches) = @_;
    my @kept = keep_open();
    write_file($caches, 4); # no word in the kernel's log each time that they are dropped
    write_file("$place/groups/cgroup.subtree_control", '+cpu');
    $keeper = Port->new(\*STDIN, \*STDOUT);
    $SIG{CHLD} = sub { }; # ends a wait
    $SIG{PIPE} = 'IGNORE';
    while (1) {
        my @all = values %commands;
        my ($read, $write) = ready(
            (grep { defined $_->{status} } @all) ? 0.02 : (grep { $_->{number} < FIRST_SPARE } @all) ? 0.2 : undef,
            [$keeper->{in}, map { $_->{room} > 0 ? values %{ $_->{outputs} } : () } @all],
            [(length $keeper->{unsent} ? $keeper->{out} : ()), map { length $_->{unwritten} ? $_->{input} : () } @all]
        );
        $keeper->flush;
        my %ready = map { $_ => 1 } @$read, @$write;
        for my $command (@all) {
            for my $kind (keys %{ $command->{outputs} }) {
                if ($ready{ $command->{outputs}{$kind} }) { pass_output($command, $kind) }
            }
            if (length $command->{unwritten} && $ready{ $command->{input} }) { write_input($command) }
        }
        note_ends();
        finish($_) for grep { defined $_->{status} } @all;
        if ($ready{ $keeper->{in} }) {
            my $frames = $keeper->receive or exit;
            obey(@$_) for @$frames;
        }
    }
}

sub note_ends {
    while ((my $pid = waitpid -1, POSIX::WNOHANG()) > 0) {
        my $status = POSIX::WIFSIGNALED($?) ? 128 + POSIX::WTERMSIG($?) : POSIX::WEXITSTATUS($?);
        for (grep { $_->{pid} == $pid } values %commands) {
            $_->{status} = $status;
            $_->{end} = time + 5;
            if ($_->{number} >= FIRST_SPARE) { $_->{outputs} = {} } # nobody reads them
        }
    }
}

# Opens the files with which a JVM starts: what is open stays in memory when the caches are dropped.
sub keep_open {
    my @open;
    for my $name (map { glob "$ENV{JAVA_HOME}/$_" } $ENV{JAVA_HOME} ? qw(bin/java lib/*.so lib/modules lib/server/*) : ()) {
        if (open my $file, '<', $name) { push @open, $file }
    }
    return @open;
}

sub obey {
    my ($number, $kind, $bytes) = @_;
    my $command = $commands{$number};
    if ($kind eq 'S') {
        eval { begin($number, $bytes); 1 } or do {
            $keeper->give($number, 'E', "soft-roce: the command did not start: $@");
            $keeper->give($number, 'X', 125);
        };
    }
    elsif (!$command) { } # has ended
    elsif ($kind eq 'A') { $command->{room} += $bytes }
    elsif ($kind eq 'R') { set_size($command->{outputs}{O}, $bytes) }
    elsif ($kind eq 'K') {
        $command->{outputs} = {};
        end_input($command);
        end_all($command);
    }
    elsif (!length $bytes) {
        $command->{ended} = 1;
        if (!length $command->{unwritten}) { end_input($command) }
    }
    elsif ($command->{input}) { $command->{unwritten} .= $bytes; write_input($command) }
    else { $keeper->give($number, 'A', length $bytes) } # nobody reads it
}

# Starts a command for a client, or gives it the one that waits.
sub begin {
    my ($number, $bytes) = @_;
    my ($settings, $script) = split /\n/, $bytes, 2;
    my ($wanted, $input, $merged, $size) = split / /, $settings, 4;
    my @what = ($input, $merged, $size, $script);
    write_file($caches, 2); # what has changed on the host is seen: an unused file is looked up anew
    if ($wanted ne 'make' && !($wanted eq 'use' && take($number, @what))) { $commands{$number} = start($number, @what) }
    if ($wanted ne 'no') { make_spare(@what) }
    if ($wanted eq 'make') { $keeper->give($number, 'X', 0) }
}

# Gives a client the command that waits, if it is the same one.
sub take {
    my ($number, @what) = @_;
    if (!waits_for(@what)) { return 0 }
    my $command = $commands{$number} = delete $commands{$spare};
    $command->{number} = $number;
    $command->{room} = WINDOW;
    prefer($command, 1);
    return 1;
}

# True if a command waits for a client that wants this one.
sub waits_for {
    my @what = @_;
    note_ends();
    my $command = $commands{$spare};
    return $command && !defined $command->{status} && "@{ $command->{what} }" eq "@what";
}

# Starts a command that waits for a client, in place of another one that waits.
sub make_spare {
    my @what = @_;
    if ($commands{$spare}) {
        if (waits_for(@what)) { return }
        end_all($commands{$spare});
    }
    my $command = start(++$spare, @what);
    $command->{room} = 0; # its output waits, too
    prefer($command, 0);
    $commands{$spare} = $command;
}

# Has the processes of a command run like others, or else only when others don't, and be the first that a lack of memory ends.
sub prefer {
    my ($command, $preferred) = @_;
    my $group = $command->{group};
    my %settings = ("$group/cpu.weight" => $preferred ? 100 : 1);
    for ($command->{pid}, members($group)) { # the first one may be entering the group just now
        $settings{"/proc/$_/oom_score_adj"} = $preferred ? 0 : 1000;
    }
    while (my ($name, $value) = each %settings) {
        eval { write_file($name, $value) }; # a kernel may have no such file, and a process may have ended
    }
}

# Returns the numbers of the processes of a group.
sub members {
    my ($group) = @_;
    open my $file, '<', "$group/cgroup.procs" or return;
    return map { /(\d+)/ } <$file>;
}

sub start {
    my ($number, @what) = @_;
    my ($input, $merged, $size, $script) = @what;
    my $file = "$place/$number";
    my $group = "$place/groups/$number";
    mkdir $group;
    write_file($file, $script);
    my ($in, $to, $from, $out, $from_error, $error, $terminal);
    if ($input eq 'terminal') {
        ($to, $terminal) = make_terminal($size);
        $from = $to;
    }
    else {
        pipe($in, $to) && pipe($from, $out) && pipe($from_error, $error) or die "pipe: $!\n";
    }
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        eval {
            write_file("$group/cgroup.procs", $$);
            POSIX::setsid();
            if ($terminal) {
                open $in, '+<', $terminal or die;
                $out = $error = $in;
            }
            if ($input eq 'none') { open $in, '<', '/dev/null' or die }
            if ($merged eq 'yes') { $error = $out }
            open(STDIN, '<&', $in) && open(STDOUT, '>&', $out) && open(STDERR, '>&', $error) or die;
            $SIG{$_} = 'DEFAULT' for qw(CHLD PIPE);
            %ENV = ();
            exec '/bin/sh', $file;
        };
        POSIX::_exit(126);
    }
    write_file("$group/cgroup.procs", $pid); # also here: a client that is killed now ends it
    my %outputs = (O => $from);
    if (!$terminal && $merged ne 'yes') { $outputs{E} = $from_error }
    my $command = {
        number => $number, what => \@what, pid => $pid, group => $group, file => $file, input => $to, unwritten => '',
        ended => 0, terminal => $terminal, outputs => \%outputs, room => WINDOW, status => undef
    };
    if ($input eq 'none') { end_input($command) }
    else { fcntl $to, F_SETFL, fcntl($to, F_GETFL, 0) | O_NONBLOCK }
    return $command;
}

sub write_file {
    my ($name, $text) = @_;
    open my $file, '>', $name or die "$name: $!\n";
    print {$file} $text;
    close $file or warn "$name: $!\n";
}

# Returns the control side of a new terminal, and the name of the other one.
sub make_terminal {
    my ($size) = @_;
    open my $control, '+<', '/dev/ptmx' or die "/dev/ptmx: $!\n";
    my ($lock, $index) = (pack('i', 0)) x 2;
    ioctl($control, 0x40045431, $lock) && ioctl($control, 0x80045430, $index) or die "/dev/ptmx: $!\n"; # TIOCSPTLCK TIOCGPTN
    set_size($control, $size);
    return ($control, '/dev/pts/' . unpack 'i', $index);
}

sub set_size {
    my ($control, $size) = @_;
    my $numbers = pack 'S4', split(/ /, $size), 0, 0;
    if ($control) { ioctl $control, 0x5414, $numbers } # TIOCSWINSZ
}

sub pass_output {
    my ($command, $kind) = @_;
    my $room = $command->{room};
    if ($room <= 0) { return }
    my $got = sysread $command->{outputs}{$kind}, my $bytes, $room < PART ? $room : PART;
    if ($got) {
        $command->{room} -= $got;
        $keeper->give($command->{number}, $kind, $bytes);
    }
    elsif (defined $got || $! != EAGAIN && $! != EINTR) { # a terminal that nobody has open any more is an error
        delete $command->{outputs}{$kind};
        if ($command->{terminal}) { end_input($command) }
    }
}

sub write_input {
    my ($command) = @_;
    my $written = syswrite $command->{input}, $command->{unwritten};
    if (defined $written) {
        substr($command->{unwritten}, 0, $written) = '';
        $keeper->give($command->{number}, 'A', $written);
        if ($command->{ended} && !length $command->{unwritten}) { end_input($command) }
    }
    elsif ($! != EAGAIN && $! != EINTR) {
        $keeper->give($command->{number}, 'A', length $command->{unwritten});
        end_input($command);
    }
}

sub end_input {
    my ($command) = @_;
    $command->{unwritten} = '';
    $command->{input} = undef;
}

# Kills the processes of a command, also those that have left its session. Returns their number.
sub end_all {
    my ($command) = @_;
    my @left = members($command->{group});
    return kill('KILL', @left) + kill('KILL', -$command->{pid});
}

# Reports the end of a command whose first process has ended, as soon as nothing is left of it. A process that the kernel does
# not let go is left after a few seconds.
sub finish {
    my ($command) = @_;
    my $left = end_all($command);
    if (($left || %{ $command->{outputs} }) && time < $command->{end}) { return }
    if (%{ $command->{outputs} } && !$left) { return } # the client takes its time
    syscall((POSIX::uname())[4] eq 'aarch64' ? 81 : 162); # sync: what it wrote to the project's folder is there
    unlink $command->{file};
    rmdir $command->{group};
    delete $commands{ $command->{number} };
    $keeper->give($command->{number}, 'X', $command->{status});
}

# Clients

# Returns a port to the keeper, or nothing if there is none. The name of a socket can't be long, that of the folder can.
sub connect_to {
    my ($folder) = @_;
    socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!\n";
    opendir my $here, '.' or return;
    chdir $folder or return;
    my $connected = connect $socket, pack_sockaddr_un('socket');
    chdir $here;
    if (!$connected || !sysread $socket, my $hello, 9) { return }
    return Port->new($socket, $socket);
}

sub ask {
    my ($folder, $word) = @_;
    alarm 10; # a keeper that was stopped
    my $keeper = connect_to($folder) or exit 1;
    $keeper->give(0, 'Q', $word);
    while (1) {
        ready(undef, [$keeper->{in}], []);
        my $frames = $keeper->receive or exit;
        for (@$frames) { print "$_->[2]\n"; exit }
    }
}

my $terminal_state;

sub run {
    my ($folder, $spare, $input, $merged, $timeout, @otherwise) = @_;
    my $keeper = connect_to($folder);
    if (!$keeper) {
        POSIX::close(3);
        exec @otherwise;
    }
    my $script = do { local $/; open my $file, '<&=', 3 or die "script: $!\n"; <$file> };
    my %signals = (HUP => 1, INT => 2, TERM => 15);
    while (my ($signal, $number) = each %signals) {
        $SIG{$signal} = sub { exit 128 + $number };
    }
    $SIG{PIPE} = 'IGNORE';
    $SIG{ALRM} = sub { print STDERR "soft-roce: the command was ended after $timeout seconds (--timeout)\n"; exit 124 };
    alarm $timeout;
    my $size = '24 80';
    if ($input eq 'terminal') {
        chomp($terminal_state = `stty -g`);
        $size = size_of_terminal();
        $SIG{WINCH} = sub { $keeper->give(0, 'R', size_of_terminal()) };
        system qw(stty -ignbrk -brkint -istrip -inlcr -igncr -icrnl -ixon -opost -isig -icanon -iexten -echo -echonl min 1 time 0);
    }
    $keeper->give(0, 'S', "$spare $input $merged $size\n$script");
    my $room = $input eq 'none' ? 0 : WINDOW;
    my $escape = 0; # whether Ctrl-] was typed
    my $open = $input ne 'none';
    while (1) {
        my ($read) = ready(
            undef,
            [$keeper->{in}, ($open && $room > 0 ? \*STDIN : ())],
            [length $keeper->{unsent} ? $keeper->{out} : ()]
        );
        $keeper->flush;
        for (@$read) {
            if ($_ == $keeper->{in}) {
                my $frames = $keeper->receive;
                if (!$frames) {
                    print STDERR "soft-roce: the guest ended before the command did\n";
                    exit 125;
                }
                for (@$frames) {
                    my (undef, $kind, $bytes) = @$_;
                    if ($kind eq 'X') { exit $bytes }
                    if ($kind eq 'A') { $room += $bytes; next }
                    write_all($kind eq 'E' ? \*STDERR : \*STDOUT, $bytes);
                    $keeper->give(0, 'A', length $bytes);
                }
            }
            else {
                my $got = sysread STDIN, my $bytes, PART;
                if (!defined $got && ($! == EINTR || $! == EAGAIN)) { next }
                if (!$got) { $open = 0 }
                if ($input eq 'terminal' && $got) {
                    if ($escape && substr($bytes, 0, 1) eq 'x' || $bytes =~ /\x1dx/) { exit 137 }
                    $escape = $bytes =~ /\x1d\z/;
                }
                $room -= $got // 0;
                $keeper->give(0, 'I', $bytes // '');
            }
        }
    }
}

sub size_of_terminal {
    my $size = `stty size`;
    return $size =~ /(\d+ \d+)/ ? $1 : '24 80';
}

# Output may be shared with others, and is not made to never wait.
sub write_all {
    my ($to, $bytes) = @_;
    while (length $bytes) {
        my $written = syswrite $to, $bytes;
        if (defined $written) { substr($bytes, 0, $written) = '' }
        elsif ($! == EAGAIN) { ready(undef, [], [$to]) }
        elsif ($! != EINTR) { exit 141 }
    }
}

END {
    if ($terminal_state) {
        my $status = $?;
        system 'stty', $terminal_state;
        $? = $status;
    }
}

my %parts = (keep => \&keep, serve => \&serve, run => \&run, ask => \&ask);
my $part = shift;
$parts{$part}->(@ARGV);
