package dev.verbena.tools.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.api.Test;

/** Tests that options are parsed as getopt_long does. */
class OptionsTest {
    private static final String USAGE = """
            usage: verbena tool [-n COUNT] HOST

            Says what -x and --long do:
              -n, --iters=COUNT   number, for example
                                    -y
              -e, --events        switch
              -b ADDRESS          value after a space
              --rounds COUNT      value of a long name
              -c""";

    private static Options parse(String... args) {
        return Options.parse(args, USAGE, 1);
    }

    @Test
    void usageDeclaresTheOptions() {
        Options options = parse("-b", "10.9.9.1", "--rounds", "3", "-c");
        assertThat(options.text("-b", "")).isEqualTo("10.9.9.1");
        assertThat(options.number("--rounds", 0, 0, 9)).isEqualTo(3);
        assertThat(options.has("-c")).isTrue();
        refused("unknown option -y", "-y");
        refused("unknown option --long", "--long");
    }

    @Test
    void numbersAreSeparatedByCommas() {
        assertThat(parse("-n", "5,0x10").numbers("-n", "1", 1, 16)).containsExactly(5, 16);
        assertThat(parse().numbers("-n", "1,2", 1, 16)).containsExactly(1, 2);
        assertThatExceptionOfType(Options.UsageException.class)
                .isThrownBy(() -> parse("-n", "5,17").numbers("-n", "1", 1, 16))
                .withMessage("-n needs a number from 1 to 16, got 17");
    }

    @Test
    void parseTreatsShortAndLongNamesAlike() {
        for (Options options : new Options[] {
            parse("-n", "5"), parse("-n5"), parse("--iters", "5"), parse("--iters=5"), parse("-n", "0x5")
        }) {
            assertThat(options.number("-n", 0, 0, 100)).isEqualTo(5);
            assertThat(options.has("-e")).isFalse();
        }
        assertThat(parse("--events").has("-e")).isTrue();
    }

    @Test
    void parseSplitsCombinedSwitches() {
        Options options = parse("-ecn", "7", "10.9.9.1");
        assertThat(options.has("-e")).isTrue();
        assertThat(options.has("-c")).isTrue();
        assertThat(options.number("-n", 0, 0, 100)).isEqualTo(7);
        assertThat(options.operand(0)).isEqualTo("10.9.9.1");
    }

    @Test
    void parseReturnsDefaultsForMissingOptions() {
        assertThat(parse().number("-n", 9, 1, 100)).isEqualTo(9);
        assertThat(parse().operand(0)).isEmpty();
    }

    private static void refused(String message, String... args) {
        assertThatExceptionOfType(Options.UsageException.class)
                .isThrownBy(() -> parse(args).number("-n", 1, 1, 100))
                .withMessageContaining(message);
    }

    @Test
    void parseRefusesInvalidOptionsWithAReason() {
        refused("unknown option -x", "-x");
        refused("unknown option --iter", "--iter", "5");
        refused("-n needs a value", "-n");
        refused("-n needs a number, got 'many'", "-n", "many");
        refused("from 1 to 100, got 101", "-n", "101");
        refused("--events takes no value", "--events=no");
        refused("'b' is an unexpected word", "a", "b");
    }

    @Test
    void parseThrowsHelpForBothNames() {
        for (String name : new String[] {"-h", "--help"}) {
            assertThatExceptionOfType(Options.Help.class)
                    .isThrownBy(() -> parse("-e", name))
                    .withMessage(USAGE);
        }
    }
}
