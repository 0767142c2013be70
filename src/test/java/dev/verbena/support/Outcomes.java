package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that pass, fail and are left out on purpose, for {@link ResultsTest} alone: no run looks for tests in classes of such a name. */
final class Outcomes {
    private Outcomes() {}

    static final class Mixed {
        @Test
        void passes() {}

        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void is(int number) {
            assertThat(number).isEqualTo(1);
        }

        @Test
        void ends() {
            abort("no device\there");
        }
    }

    static final class FailsAsAWhole {
        @BeforeAll
        static void fail() {
            throw new IllegalStateException("no room");
        }

        @Test
        void first() {}

        @Test
        void second() {}
    }

    @Disabled("not now")
    static final class LeftOut {
        @Test
        void only() {}
    }
}
