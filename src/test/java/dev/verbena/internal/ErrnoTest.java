package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests names and texts of error numbers. */
class ErrnoTest {
    @Test
    void knownErrnoHasNameAndText() {
        assertThat(Errno.name(12)).isEqualTo("ENOMEM");
        assertThat(Errno.describe(12)).isEqualTo("ENOMEM (cannot allocate memory)");
    }

    @Test
    void unknownErrnoKeepsItsNumber() {
        assertThat(Errno.name(524)).isEqualTo("errno 524");
        assertThat(Errno.describe(524)).isEqualTo("errno 524");
    }

    @Test
    void errnoConstantsHaveTheirNames() throws IllegalAccessException {
        for (var field : Errno.class.getFields()) {
            assertThat(Errno.name(field.getInt(null))).isEqualTo(field.getName());
        }
    }

    @Test
    void unsupportedIsTrueForThreeNumbers() {
        assertThat(Errno.meansUnsupported(Errno.EOPNOTSUPP)).isTrue();
        assertThat(Errno.meansUnsupported(Errno.ENOSYS)).isTrue();
        assertThat(Errno.meansUnsupported(Errno.EPROTONOSUPPORT)).isTrue();
        assertThat(Errno.meansUnsupported(Errno.EINVAL)).isFalse();
    }
}
