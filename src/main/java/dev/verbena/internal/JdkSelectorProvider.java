package dev.verbena.internal;

import java.lang.reflect.InvocationTargetException;
import java.nio.channels.spi.SelectorProvider;

/**
 * Finds the JDK's own {@code SelectorProvider} in a program whose configured provider is another.
 *
 * <p>The JDK's provider is in a package that is not exported, and no public method returns it once a system property names
 * another provider.
 */
public final class JdkSelectorProvider {
    private static final String OPTION = "--add-exports java.base/sun.nio.ch=";

    private JdkSelectorProvider() {}

    /**
     * Returns the JDK's provider.
     *
     * @throws UnsupportedOperationException if the package is not exported to this library
     */
    public static SelectorProvider get() {
        try {
            return (SelectorProvider) Class.forName("sun.nio.ch.DefaultSelectorProvider")
                    .getMethod("get")
                    .invoke(null);
        } catch (IllegalAccessException e) {
            Module module = JdkSelectorProvider.class.getModule();
            throw new UnsupportedOperationException(
                    "Datagram channels, pipes, Unix domain sockets and nodes over TCP are those of the JDK, which hides its "
                            + "provider when -Djava.nio.channels.spi.SelectorProvider names another: start java with "
                            + OPTION
                            + (module.isNamed() ? module.getName() : "ALL-UNNAMED"),
                    e);
        } catch (ClassNotFoundException | NoSuchMethodException | InvocationTargetException e) {
            throw new UnsupportedOperationException(
                    "This JDK (" + Runtime.version() + ") has another provider of channels than JDK 22 to 25", e);
        }
    }
}
