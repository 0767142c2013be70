package dev.verbena.net;

import org.jspecify.annotations.Nullable;

/**
 * A program's part of {@link Channel}s in the style of handlers: methods that the node calls. See {@link Node#listen}.
 *
 * {@snippet file="CallSnippets.java" region="handler"}
 *
 * <p>One thread at a time calls the handlers of a node: the node's thread, or with {@link NodeOptions.Progress#CALLER} a thread
 * of the program in {@link Node#progress} or in a method that waits. So the handlers of one node need no locks among
 * themselves. A handler that waits holds up the other channels of its node, and is not called again meanwhile.
 */
@FunctionalInterface
public interface Handler {
    /**
     * Handles a message. The node closes the message afterwards. To answer a request later, take its {@link Message#reply}.
     *
     * <p>When this method throws, {@link #failed} is called, and then a request that is not answered yet fails at the peer.
     * Otherwise the channel ends with {@link EndReason#FAILED} and the exception as cause. The peer's {@link CallException} has
     * the name of the exception's class. Its message may tell what strangers should not know. So only a peer that has proved a
     * {@linkplain NodeOptions#secret secret} gets the message too: the first 256 characters, in one line.
     *
     * @param channel the channel
     * @param message the message, whose object the channel uses again
     * @throws Exception for any failure
     */
    void received(Channel channel, Message message) throws Exception;

    /**
     * Handles a notice that the peer has written memory of this side, with {@link Channel#writeAndNotify}. This method has the
     * turn that a message would have, and sees what the peer has written before. It does nothing unless it is overridden.
     * When it throws, {@link #failed} is called, and the channel ends with {@link EndReason#FAILED}.
     *
     * @param channel the channel
     * @param number the number that the peer's program has chosen
     * @throws Exception to end the channel
     */
    default void written(Channel channel, long number) throws Exception {}

    /**
     * Handles a new channel, before its first message.
     *
     * @param channel the channel
     * @throws Exception to end the channel
     */
    default void opened(Channel channel) throws Exception {}

    /**
     * Handles the loss of a channel's connection, while the node looks for another one: see {@link NodeOptions#heal}. Nothing
     * has to be done. A loss that has ended before this handler's turn is not told.
     *
     * @param channel the channel
     * @throws Exception to end the channel
     */
    default void pathLost(Channel channel) throws Exception {}

    /**
     * Handles the end of such a time: messages travel again.
     *
     * @param channel the channel
     * @throws Exception to end the channel
     */
    default void pathBack(Channel channel) throws Exception {}

    /**
     * Handles the end of a channel, once, after its last message. It is not called when this side closes the channel.
     * {@link Channel#cause} has the reason.
     *
     * @param channel the channel. A channel that {@link Node#listen} has accepted is closed by the node afterwards
     * @throws Exception for any failure, which changes nothing
     */
    default void closed(Channel channel) throws Exception {}

    /**
     * Handles an exception that another method of this handler has thrown. This method does nothing unless it is overridden.
     * The node counts the exceptions, {@link Node#handlerFailures}, keeps the last one, {@link Node#handlerFailure}, and the
     * flight recorder has each as {@code dev.verbena.HandlerFailure}.
     *
     * <p>The request is still open. {@link Message#refuse} or {@link Message#reply} answers it, in place of the node. An
     * exception of this method changes nothing, and is added to the first one as a suppressed exception.
     *
     * @param channel the channel
     * @param message the message that was handled; null if {@link #opened} or {@link #closed} has thrown
     * @param thrown the exception or the error
     */
    default void failed(Channel channel, @Nullable Message message, Throwable thrown) {}
}
