/*
 * test/simt/settings.cpp
 *	  Settings from the environment and, for processes whose environment is
 *	  not the tester's to choose (those of a server), from a file.
 */
#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cudart.h"

namespace simt
{

static char text[4096];			/* of the file */
static char value_buffer[256];

static void
read_file(const char *path)
{
	FILE	   *file = fopen(path, "r");
	size_t		n = 0;

	if (file != nullptr)
	{
		n = fread(text, 1, sizeof(text) - 1, file);
		(void) fclose(file);
	}
	text[n] = '\0';
}

const char *
setting(const char *name)
{
	size_t		len = strlen(name);
	const char *value;

	for (const char *line = text; *line != '\0';)
	{
		size_t		n = strcspn(line, "\n");

		if (n > len && strncmp(line, name, len) == 0 && line[len] == '=' &&
			n - len - 1 < sizeof(value_buffer))
		{
			memcpy(value_buffer, line + len + 1, n - len - 1);
			value_buffer[n - len - 1] = '\0';
			return value_buffer;
		}
		line += n;
		line += *line == '\n';
	}
	value = getenv(name);
	return value == nullptr ? "" : value;
}

void
settings_reload()
{
	const char *path = getenv("SIMT_CONTROL");

	if (path == nullptr || *path == '\0')
		return;
	read_file(path);
	simt_configure(nullptr);
	injections_from_settings();
	memory_from_settings();
	shared_from_settings();
}

}								/* namespace simt */
