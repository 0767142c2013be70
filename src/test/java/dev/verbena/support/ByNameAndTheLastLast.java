package dev.verbena.support;

import java.util.Comparator;
import org.junit.jupiter.api.ClassDescriptor;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.ClassOrdererContext;
import org.junit.jupiter.api.Order;

/** Runs the classes in the same order everywhere: by name, but for those with a number. */
public final class ByNameAndTheLastLast implements ClassOrderer {
    @Override
    public void orderClasses(ClassOrdererContext context) {
        context.getClassDescriptors().sort(Comparator.comparingInt(ByNameAndTheLastLast::order)
                .thenComparing(type -> type.getTestClass().getName()));
    }

    private static int order(ClassDescriptor type) {
        return type.findAnnotation(Order.class).map(Order::value).orElse(Order.DEFAULT);
    }
}
