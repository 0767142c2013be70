package dev.verbena;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The names of the C functions that a type, method or constructor of this library calls or replaces.
 *
 * <p>On a {@code destroy()} method, the name is the function that {@link VerbsObject#close()} calls. On a type, the names
 * are the functions behind the type as a whole: a batch names the function that posts the batch. A test compares all
 * names with the functions of {@code infiniband/verbs.h} and {@code rdma/rdma_cma.h}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.CONSTRUCTOR, ElementType.TYPE})
public @interface CName {
    /**
     * Returns the names of the C functions.
     *
     * @return names, such as {@code ibv_reg_mr}
     */
    String[] value();
}
