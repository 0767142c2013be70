# Writes offsets and sizes into the generated bindings as literals. scripts/generate-bindings runs it.
#
#   perl literals.pl VALUES SOURCE...
#
# VALUES has lines of a class, a name, its value, and its value on AArch64. The name is that of a member's offset
# (x$OFFSET) or layout (x$LAYOUT: its size), or one of SIZE and ALIGNMENT. A value that differs on AArch64 grows by the
# difference of pthread_mutex_t there.
use strict;
use warnings FATAL => "all";

my %kind = (OfBoolean => 'BOOLEAN', OfByte => 'BYTE', OfChar => 'CHAR', OfShort => 'SHORT', OfInt => 'INT',
    OfLong => 'LONG', OfFloat => 'FLOAT', OfDouble => 'DOUBLE', AddressLayout => 'LONG');

my %values;
my $list = shift;
open my $in, '<', $list or die "$list: $!";
while (<$in>) {
    chomp;
    my ($class, $name, $value, $on_aarch64) = split /\t/;
    my $more = $on_aarch64 - $value;
    die "$class.$name: $value, and $on_aarch64 on AArch64" unless $more == 0 || $more == 8;
    $values{$class}{$name} = $more ? "$value + pthread_mutex_t.MORE" : $value;
}
close $in;

for my $file (@ARGV) {
    open my $source, '<', $file or die "$file: $!";
    my @lines = <$source>;
    close $source;
    open my $target, '>', $file or die "$file: $!";
    print $target rewrite(@lines);
    close $target or die "$file: $!";
}

sub rewrite {
    my @output;
    my @classes;   # the class that a line is in, and those around it
    my $in_layout; # the indentation of a layout that spans lines
    my (%layout, %dimensions);
    while (defined(my $line = shift)) {
        my $class = @classes ? $classes[-1]{name} : undef;
        my $known = defined $class ? $values{$class} : undef;
        my $value = sub { $known->{$_[0]} // die "$class has no value of $_[0]" };
        if (defined $in_layout) {
            push @output, "    $line";
            if ($line =~ /^$in_layout\).*;$/) {
                push @output, "$in_layout}\n";
                undef $in_layout;
            }
            next;
        }
        if ($line =~ /^( *)public (?:static |final )*class (\S+) \{$/) {
            push @classes, {indent => $1, name => @classes ? "$class\$$2" : $2};
        } elsif (@classes && $line =~ /^$classes[-1]{indent}\}$/) {
            pop @classes;
        } elsif (!defined $known) {
            # a class of constants, or of a function pointer's type
        } elsif ($line =~ /^( *)private static final (GroupLayout \$LAYOUT = .*)$/) {
            push @output, "$1private static final class Layouts {\n", "$1    static final $2\n";
            $in_layout = $1;
            next;
        } elsif ($line =~ /^ *private static final (\w+) (\S+)\$LAYOUT = \(\w+\)\$LAYOUT(\.select\(.*\));$/) {
            $layout{$class}{$2} = {type => $1, path => $3};
            shift if $_[0] eq "\n";
            next;
        } elsif ($line =~ /^ *private static long\[\] (\S+)\$DIMS = (\{.*\});$/) {
            $dimensions{$class}{$1} = $2;
            shift if $_[0] eq "\n";
            next;
        } else {
            my $of = $layout{$class};
            $line =~ s/return \$LAYOUT;/return Layouts.\$LAYOUT;/;
            $line =~ s/(\S+\$OFFSET) = .*;/"$1 = " . $value->($1) . ";"/e;
            $line =~ s/return (\w+)\$LAYOUT;/return ($of->{$1}{type})layout()$of->{$1}{path};/;
            $line =~ s/\b(get|set)\((\S+)\$LAYOUT, /"$1(JAVA_$kind{$of->{$2}{type}}, "/e;
            $line =~ s/(\S+\$LAYOUT)\.byteSize\(\)/$value->($1)/e;
            $line =~ s/return (\S+)\$DIMS;/return new long[] $dimensions{$class}{$1};/;
            $line =~ s/sizeof\(\) \{ return layout\(\)\.byteSize\(\); \}/"sizeof() { return " . $value->('SIZE') . "; }"/e;
            $line =~ s/allocate\(layout\(\)\)/"allocate(sizeof(), " . $value->('ALIGNMENT') . ")"/e;
            $line =~ s/allocate\(MemoryLayout\.sequenceLayout\(elementCount, layout\(\)\)\)/"allocate(Math.multiplyExact(sizeof(), elementCount), " . $value->('ALIGNMENT') . ")"/e;
            $line =~ s/(return .*)layout\(\)\.byteSize\(\) \* /$1sizeof() * /;
        }
        push @output, $line;
    }
    return @output;
}
