package dev.verbena.internal;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Has waits tick a hundred times a second during a test, in place of once. */
public final class ShortTicks implements BeforeEachCallback, AfterEachCallback {
    private static final int MILLIS = 10;

    private int before;

    @Override
    public void beforeEach(ExtensionContext context) {
        before = Tick.millis;
        Tick.millis = MILLIS;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Tick.millis = before;
    }
}
