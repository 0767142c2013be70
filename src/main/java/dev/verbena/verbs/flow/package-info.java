/**
 * Rules that steer received packets to a queue pair for raw packets. This package is rare: soft-RoCE has no flow rules.
 *
 * <table class="plain">
 *   <caption>Types, in the order of use</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link FlowRule}</td><td>a rule: {@link dev.verbena.verbs.QueuePair#createFlow} puts it to work</td></tr>
 *   <tr><td>{@link FlowMatch}</td><td>a header that packets must have</td></tr>
 *   <tr><td>{@link FlowAction}</td><td>an action on the packets: tag, drop, count</td></tr>
 *   <tr><td>{@link FlowSpec}</td><td>a match or an action, which a rule lists</td></tr>
 * </table>
 */
package dev.verbena.verbs.flow;
