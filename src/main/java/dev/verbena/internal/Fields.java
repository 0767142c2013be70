package dev.verbena.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Finds fields that threads change without a lock. */
public final class Fields {
    private Fields() {}

    /**
     * Returns the handle of a field.
     *
     * @param lookup of the class that uses the handle, which may access the field
     */
    public static VarHandle handle(MethodHandles.Lookup lookup, Class<?> owner, String name, Class<?> type) {
        try {
            return lookup.findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
