package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.api.Test;

/** Tests that options are parsed as getopt_long does. */
class OptionsTest {
    private static Options parse(String... args) {
        return Options.parse(args, "the usage", "-n,--iters:", "-e,--events", "-c", "HOST");
    }

    @Test
    void parseTreatsShortAndLongNamesAlike() {
        for (Options options : new Options[] {
            parse("-n", "5"), parse("-n5"), parse("--iters", "5"), parse("--iters=5"), parse("-n", "0x5")
        }) {
            assertThat(options.number("-n", 0)).isEqualTo(5);
            assertThat(options.has("-e")).isFalse();
        }
        assertThat(parse("--events").has("-e")).isTrue();
    }

    @Test
    void parseSplitsCombinedSwitches() {
        Options options = parse("-ecn", "7", "10.9.9.1");
        assertThat(options.has("-e")).isTrue();
        assertThat(options.has("-c")).isTrue();
        assertThat(options.number("-n", 0)).isEqualTo(7);
        assertThat(options.operand("")).isEqualTo("10.9.9.1");
    }

    @Test
    void parseReturnsDefaultsForMissingOptions() {
        assertThat(parse().number("-n", 9)).isEqualTo(9);
        assertThat(parse().operand("none")).isEqualTo("none");
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
                    .withMessage("the usage");
        }
    }
}
