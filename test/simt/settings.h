/*
 * test/simt/settings.h
 *	  Settings of the SIMT layer from outside the process.
 */
#ifndef SIMT_SETTINGS_H
#define SIMT_SETTINGS_H

namespace simt
{

/*
 * The value of SIMT_..., "" if it is not set: from the file of lines
 * NAME=VALUE that SIMT_CONTROL names, or else from the environment.
 */
extern const char *setting(const char *name);

/* Looks at the file again, and has all settings applied that it may change. */
extern void settings_reload();

}								/* namespace simt */

#endif							/* SIMT_SETTINGS_H */
