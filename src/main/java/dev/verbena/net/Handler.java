package dev.verbena.net;

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
     * <p>When this method throws, a request that is not answered yet fails at the peer with the name of the exception's
     * class. Otherwise the channel ends with {@link EndReason#FAILED} and the exception as cause.
     *
     * @param channel the channel
     * @param message the message, whose object the channel uses again
     * @throws Exception for any failure
     */
    void received(Channel channel, Message message) throws Exception;

    /**
     * Handles a new channel, before its first message.
     *
     * @param channel the channel
     * @throws Exception to end the channel
     */
    default void opened(Channel channel) throws Exception {}

    /**
     * Handles the end of a channel, once, after its last message. It is not called when this side closes the channel.
     * {@link Channel#cause} has the reason.
     *
     * @param channel the channel. A channel that {@link Node#listen} has accepted is closed by the node afterwards
     * @throws Exception for any failure, which changes nothing
     */
    default void closed(Channel channel) throws Exception {}
}
