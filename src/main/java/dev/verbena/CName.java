package dev.verbena;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The C functions that something of this API stands for: whoever comes from C looks here, and so does the test that
 * compares this library with {@code infiniband/verbs.h}.
 *
 * <p>On a {@code destroy()} method it names what {@link VerbsObject#close()} calls. On a type it names what the type as a
 * whole stands for, such as a batch for the function that posts it.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.CONSTRUCTOR, ElementType.TYPE})
public @interface CName {
    /**
     * The functions, by the names that a C programmer writes.
     *
     * @return for example {@code ibv_reg_mr}
     */
    String[] value();
}
