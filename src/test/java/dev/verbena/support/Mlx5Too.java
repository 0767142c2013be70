package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Tests that also run on libmlx5 and an mlx5 adapter without hardware (src/bench/c/mlx5), which need no guest: the data path
 * within one process. {@code scripts/test} runs them in a JVM of their own.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("mlx5")
public @interface Mlx5Too {}
