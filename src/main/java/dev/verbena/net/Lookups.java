package dev.verbena.net;

import dev.verbena.VerbsException;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Wire;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The peer's questions for exports, and offers that are too large, which wait for a free buffer for the reply. The channel's
 * lock guards an instance.
 */
final class Lookups {
    private final Session session;
    private final Engine engine;
    private final Messages messages;
    private final ArrayDeque<Buffer> waiting = new ArrayDeque<>(1); // grows: most channels have none

    Lookups(Session session, Engine engine, Messages messages) {
        this.session = session;
        this.engine = engine;
        this.messages = messages;
    }

    /** Handles a question, or an offer, which the program gets unless it is too large. Returns null, or what is wrong with it. */
    @Nullable
    String received(Buffer request, int bytes, int kind) {
        if (kind == Wire.OFFER) {
            int rest = engine.options.offerBytes(session.devicesOfPeer);
            if (bytes < rest) {
                return "Offer of " + bytes + " bytes is malformed";
            }
            request.length(bytes - rest);
            long offered = offeredBytes(request);
            if (offered < 0) {
                return "Offer of " + offered + " bytes";
            }
            if (offered <= engine.options.maxTransferSize()) {
                messages.arrived(request);
                return null;
            }
        }
        waiting.add(request);
        answer();
        return null;
    }

    /** Returns the number of bytes that are offered. */
    private static long offeredBytes(Buffer offer) {
        return offer.all.get(Wire.LONG, Wire.HEADER_BYTES + offer.length() + Wire.LENGTH_IN_EXPORT);
    }

    /** Answers the peer's questions for exports, as far as buffers for the replies are free. */
    void answer() {
        while (!waiting.isEmpty() && session.linkIfOpen() != null && messages.calls.reserveReply()) {
            Buffer request = waiting.remove();
            answer(request);
            if (messages.postAgain(request)) {
                messages.totals.posted();
                session.control();
            }
        }
    }

    private void answer(Buffer request) {
        if (request.kind == Wire.OFFER) {
            messages.fault(
                    request,
                    "An offer of " + offeredBytes(request) + " bytes is more than the "
                            + engine.options.maxTransferSize() + " of NodeOptions.maxTransferSize()");
            return;
        }
        String name = new String(request.segment().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
        Export export = engine.exports.find(name);
        Link on = session.linkIfOpen();
        String refusal;
        if (export == null || on == null) {
            refusal = "No export has the name '" + name + "'";
        } else if (engine.options.isSealed() && !export.isInTheClear()) {
            refusal = "The export '" + name + "' is not for sealed channels: see Export.inTheClear()";
        } else if (session.grants.isTooMany(export)) {
            refusal = "Each channel may use " + engine.options.maxExports() + " exports: see NodeOptions.maxExports()";
        } else {
            try {
                messages.answer(
                        request, Wire.REPLY, session.grants.grant(on, export).toBytes());
                return;
            } catch (VerbsException | IllegalStateException failed) {
                refusal = "The export '" + name + "' could not be opened";
            }
        }
        messages.fault(request, refusal);
    }
}
