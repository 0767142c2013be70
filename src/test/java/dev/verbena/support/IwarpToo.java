package dev.verbena.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/** Tests that connect by address only, and so also run on an iWARP device ({@code scripts/test --siw}). */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("iwarp")
public @interface IwarpToo {}
