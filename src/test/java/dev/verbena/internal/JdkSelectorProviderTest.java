package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.api.Test;

/** The JDK's provider of channels, which only an option of the JVM makes accessible. */
class JdkSelectorProviderTest {
    @Test
    void hiddenProviderIsNamedWithTheOptionThatShowsIt() {
        if (Object.class.getModule().isExported("sun.nio.ch", getClass().getModule())) {
            assertThat(JdkSelectorProvider.get().getClass().getModule()).isSameAs(Object.class.getModule());
            return;
        }
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(JdkSelectorProvider::get)
                .withMessageEndingWith("start java with --add-exports java.base/sun.nio.ch=ALL-UNNAMED")
                .withCauseInstanceOf(IllegalAccessException.class);
    }
}
