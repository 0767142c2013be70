package dev.verbena.tools.perf;

import java.time.Duration;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Has the tools warm up for a tenth of a second during a test: no test asks how fast the tools are. */
public final class ShortWarmUps implements BeforeEachCallback, AfterEachCallback {
    private static final Duration SHORT = Duration.ofMillis(100);

    private Duration before = PerfWarmUp.longest;

    @Override
    public void beforeEach(ExtensionContext context) {
        before = PerfWarmUp.longest;
        PerfWarmUp.longest = SHORT;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        PerfWarmUp.longest = before;
    }
}
