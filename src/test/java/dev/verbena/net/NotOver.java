package dev.verbena.net;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A test of what another wire has not, or has in another way. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@interface NotOver {
    /** Returns a pattern of the names of these {@linkplain Over.Wire wires}. */
    String value();
}
