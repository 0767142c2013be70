/** Linking, errno and the dispatch of the inline verbs: what the floors above share and users never see. */
package dev.verbena.internal;
