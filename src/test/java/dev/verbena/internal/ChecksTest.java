package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

/** Checks of numbers. */
class ChecksTest {
    @Test
    void checkRangeAcceptsItsLimitsOnly() {
        assertThatCode(() -> Checks.checkRange("port", 1, 1, 255)).doesNotThrowAnyException();
        assertThatCode(() -> Checks.checkRange("port", 255, 255)).doesNotThrowAnyException();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checks.checkRange("port", 256, 1, 255))
                .withMessage("port must be from 1 to 255, got 256");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checks.checkRange("rate", -1, 0xffff_ffffL))
                .withMessage("rate must be from 0 to 4294967295, got -1");
    }

    @Test
    void checkAtLeastRefusesLess() {
        assertThatCode(() -> Checks.checkAtLeast("depth", 1, 1)).doesNotThrowAnyException();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checks.checkAtLeast("depth", 0, 1))
                .withMessage("depth must be at least 1, got 0");
    }
}
