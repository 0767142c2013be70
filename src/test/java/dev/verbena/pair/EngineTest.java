package dev.verbena.pair;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of a stock {@link Engine} on two machines. {@code scripts/test --long} fetches the engine and runs them. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("engine")
@ExtendWith(PairTest.Condition.class)
@interface EngineTest {}
