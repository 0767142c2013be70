package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Tests of orders between threads, which {@code scripts/test} runs last, alone, on all processors: beside other work, threads
 * take turns at a processor, and few orders are seen.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("hammer")
public @interface Hammer {}
