/** Values that describe a device and its ports: attributes, capabilities, states and limits. */
package dev.verbena.verbs.device;
