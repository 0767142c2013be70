package dev.verbena.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Finds fields that threads change without a lock. */
public final class Fields {
    private Fields() {}

    /**
     * Returns the handle of a field.
     *
     * @param owner the lookup of the class that has the field
     */
    public static VarHandle handle(MethodHandles.Lookup owner, String name, Class<?> type) {
        try {
            return owner.findVarHandle(owner.lookupClass(), name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
