package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests on the provider for tests (src/test/c/fenced.c), which needs neither a device nor a guest. {@code scripts/test}
 * runs them in a JVM of their own. Every test fails that leaves a violation behind: memory freed while it was registered,
 * or events that nobody acknowledges.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("fenced")
@ExtendWith(FencedCondition.class)
public @interface FencedTest {}
