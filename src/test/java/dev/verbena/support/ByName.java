package dev.verbena.support;

import java.util.Comparator;
import org.junit.jupiter.api.ClassDescriptor;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.ClassOrdererContext;

/** Orders the test classes by name, those that are {@link Last} at the end. */
public final class ByName implements ClassOrderer {
    @Override
    public void orderClasses(ClassOrdererContext context) {
        context.getClassDescriptors()
                .sort(Comparator.<ClassDescriptor, Boolean>comparing(type -> type.isAnnotated(Last.class))
                        .thenComparing(type -> type.getTestClass().getName()));
    }
}
