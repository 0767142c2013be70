package dev.verbena.net;

import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.function.Consumer;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** The tests of a class, but for those {@link NotOver} it, over another wire than InfiniBand's or RoCE's. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@FencedTest
@ExtendWith(Over.Switch.class)
@interface Over {
    Wire value();

    /** A wire, and what turns it on and off. */
    enum Wire {
        /** The nodes of {@link NodePair} use TCP. */
        TCP(on -> NodePair.over(on ? Transport.TCP : Transport.RDMA)),
        /** The nodes of {@link NodePair} have a secret. */
        SEALED_RDMA(on -> NodePair.protect(on ? Protection.SEALED : Protection.NONE)),
        /** They have a secret, and use TCP. */
        SEALED_TCP(on -> {
            NodePair.over(on ? Transport.TCP : Transport.RDMA);
            NodePair.protect(on ? Protection.SEALED : Protection.NONE);
        }),
        /** They prove a secret, and do not seal. */
        AUTHENTICATED_RDMA(on -> NodePair.protect(on ? Protection.AUTHENTICATED : Protection.NONE)),
        /** They prove a secret, and the provider has no memory windows. */
        AUTHENTICATED_WITHOUT_WINDOWS(on -> {
            windowless(on);
            NodePair.protect(on ? Protection.AUTHENTICATED : Protection.NONE);
        }),
        /** The provider has no memory windows. */
        WITHOUT_WINDOWS(Over.Wire::windowless),
        /** The provider has only what iWARP has, and the nodes have a secret. */
        SEALED_IWARP(on -> {
            siw(on);
            NodePair.protect(on ? Protection.SEALED : Protection.NONE);
        }),
        /** The provider has only what iWARP has. */
        IWARP(Over.Wire::siw);

        private final Consumer<Boolean> turn;

        Wire(Consumer<Boolean> turn) {
            this.turn = turn;
        }

        private static void windowless(boolean on) {
            driver("windowless", on);
        }

        private static void siw(boolean on) {
            driver("siw", on);
        }

        private static void driver(String name, boolean on) {
            if (on) {
                Fenced.driver(name);
            } else {
                Fenced.driverAsStarted();
            }
        }
    }

    /** Changes the wire for the tests of a class. */
    final class Switch implements BeforeAllCallback, AfterAllCallback, ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return AnnotationSupport.findAnnotation(context.getTestMethod(), NotOver.class)
                    .filter(not -> wire(context).name().matches(not.value()))
                    .map(not -> ConditionEvaluationResult.disabled("not over " + wire(context)))
                    .orElse(ConditionEvaluationResult.enabled("over this wire too"));
        }

        @Override
        public void beforeAll(ExtensionContext context) {
            wire(context).turn.accept(true);
        }

        @Override
        public void afterAll(ExtensionContext context) {
            wire(context).turn.accept(false);
        }

        private static Wire wire(ExtensionContext context) {
            return context.getRequiredTestClass().getAnnotation(Over.class).value();
        }
    }
}
