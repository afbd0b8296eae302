/*-------------------------------------------------------------------------
 *
 * cuda_loader.c
 *		Loads the device library and keeps its context, for the session.
 *
 * A device does not survive fork(), so the library is never loaded in the
 * postmaster, and never by _PG_init(), which may run there: only by a scan or
 * a join.  One context serves all of a session.  It is stopped when the process
 * exits, after everything that holds a part of it is gone; or, after a
 * failure that leaves it useless, before the next scan that needs it.
 *
 * Must not call the library with signals unblocked, and must not raise an
 * error: see cuda_loader.h.
 *
 * IDENTIFICATION
 *		src/cuda_loader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "cuda_loader.h"

#define LIBDIR	"$libdir/"
#define SUFFIX	".so"

static const PpCudaLibrary *library = NULL;
static pid_t owner = 0;			/* who has loaded it */
static bool started = false;
static bool broken = false;		/* the context is of no use any more */
static bool exiting = false;	/* it is gone, with all that was held */
static bool has_slot = false;
static uint64 budget = 0;		/* bytes that come with the slot */
static uint32 holders = 0;
static PpCudaDevice device;

/* While the process lives: "auto" tries a device no more, or not before then. */
static bool gave_up = false;
static TimestampTz retry_at = 0;
static bool logged = false;		/* it has said so */

#define RETRY_MS	10000		/* others may have let go of theirs by then */

void
parparaw_cuda_block(sigset_t *saved)
{
	sigset_t	all;

	/* those that a fault of our own raises have to be taken at once */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGTRAP);
	sigprocmask(SIG_SETMASK, &all, saved);
}

void
parparaw_cuda_unblock(const sigset_t *saved)
{
	sigprocmask(SIG_SETMASK, saved, NULL);
}

void
parparaw_cuda_raise(const PpCudaProblem *p)
{
	ereport(ERROR,
			(errcode(p->sqlstate),
			 errmsg_internal("%s", p->message),
			 p->detail ? errdetail_internal("%s", p->detail) : 0,
			 p->hint ? errhint("%s", p->hint) : 0));
}

void
parparaw_cuda_log(const PpCudaProblem *p)
{
	/* one line, whatever the query looks like */
	ereport(LOG,
			(errmsg_internal("the CPU takes the place of a device: %s%s%s", p->message,
							 p->detail ? ": " : "", p->detail ? p->detail : ""),
			 errhidestmt(true), errhidecontext(true)));
}

bool
parparaw_cuda_tries(void)
{
	return !gave_up && (retry_at == 0 || GetCurrentTimestamp() >= retry_at);
}

void
parparaw_cuda_note_fallback(const PpCudaProblem *problem)
{
	if (!logged)
		parparaw_cuda_log(problem);
	logged = true;
}

void
parparaw_cuda_note_failed_start(const PpCudaProblem *problem)
{
	parparaw_cuda_note_fallback(problem);
	if (problem->sqlstate == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED ||
		problem->sqlstate == ERRCODE_OUT_OF_MEMORY)
		retry_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), RETRY_MS);
	else
		gave_up = true;
}

/*
 * The library's file.  As with CREATE FUNCTION, "$libdir" stands for the
 * server's folder of libraries, which is also where a name without a folder
 * is looked for, and the suffix may be left out.
 */
static char *
library_path(void)
{
	const char *name = parparaw_cuda_library;
	char	   *path;
	char	   *suffixed;
	size_t		len;

	if (strncmp(name, LIBDIR, strlen(LIBDIR)) == 0)
		name += strlen(LIBDIR);
	path = strchr(name, '/') ? pstrdup(name) : psprintf("%s/%s", pkglib_path, name);
	len = strlen(path);
	if (len > strlen(SUFFIX) && strcmp(path + len - strlen(SUFFIX), SUFFIX) == 0)
		return path;
	suffixed = psprintf("%s" SUFFIX, path);
	if (access(path, F_OK) != 0 || access(suffixed, F_OK) == 0)
		return suffixed;
	return path;
}

bool
parparaw_cuda_likely(void)
{
	char	   *path = library_path();
	bool		likely = started ||
		(access(path, R_OK) == 0 &&
		 (parparaw_cuda_probe[0] == '\0' || access(parparaw_cuda_probe, F_OK) == 0));

	pfree(path);
	return likely;
}

bool
parparaw_cuda_started(void)
{
	return started && !broken;
}

static const PpCudaLibrary *
fail(PpCudaProblem *problem, int sqlstate, const char *message, const char *detail,
	 const char *hint)
{
	problem->sqlstate = sqlstate;
	problem->message = message;
	problem->detail = detail;
	problem->hint = hint;
	return NULL;
}

/* Is a pipeline of the version that we know? */
static bool
fits(const PpBackend *backend)
{
	return backend != NULL && backend->version == PP_BACKEND_VERSION &&
		backend->struct_size == sizeof(PpBackend);
}

/* Loads the library that the setting names now. */
static const PpCudaLibrary *
load(PpCudaProblem *problem)
{
	char	   *path = library_path();
	PpCudaLibraryFunction function;
	const PpCudaLibrary *result = NULL;
	struct stat st;
	void	   *handle;
	sigset_t	saved;

	/* a pipe would be waited for, by a session that cannot be ended then */
	if (stat(path, &st) != 0)
		return fail(problem, ERRCODE_UNDEFINED_FILE,
					psprintf("could not find the device library \"%s\": %m", path), NULL,
					"Build and install it with \"make cuda install\", which needs nvcc, "
					"or have parparaw.cuda_library name a file that the server may read.");
	if (!S_ISREG(st.st_mode))
		return fail(problem, ERRCODE_WRONG_OBJECT_TYPE,
					psprintf("the device library \"%s\" is not a regular file", path), NULL,
					"Set parparaw.cuda_library to the library that \"make cuda\" or "
					"\"make simt\" builds.");

	/* it is C++: loading runs code of its own */
	parparaw_cuda_block(&saved);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	parparaw_cuda_unblock(&saved);
	if (handle == NULL)
		return fail(problem, ERRCODE_SYSTEM_ERROR,
					psprintf("could not load the device library: %s", dlerror()), NULL,
					"parparaw.cuda_library is to name the library that \"make cuda\" or \"make simt\" "
					"builds, which the server has to be able to read.");

	function = (PpCudaLibraryFunction) dlsym(handle, PP_CUDA_LIBRARY_SYMBOL);
	if (function == NULL)
	{
		fail(problem, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			 psprintf("\"%s\" is not a device library: %s", path, dlerror()), NULL,
			 "Set parparaw.cuda_library to the library that \"make cuda\" or \"make simt\" builds.");
		dlclose(handle);
		return NULL;
	}

	parparaw_cuda_block(&saved);
	result = function(PP_CUDA_VERSION);
	if (result != NULL &&
		(result->version != PP_CUDA_VERSION || result->struct_size != sizeof(PpCudaLibrary) ||
		 !fits(result->paper) || !fits(result->fused) || !fits(result->ndjson) || !fits(result->json)))
		result = NULL;
	if (result == NULL)
		dlclose(handle);
	parparaw_cuda_unblock(&saved);
	if (result == NULL)
		return fail(problem, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
					psprintf("device library \"%s\" is of another version than this extension",
							 path),
					psprintf("The extension needs version %d of its interface.",
							 PP_CUDA_VERSION),
					"Build and install both anew with \"make cuda install\".");
	pfree(path);
	return result;
}

/* At the end of the process, when no transaction is left. */
static void
stop(int code, Datum arg)
{
	sigset_t	saved;

	if (exiting || owner != MyProcPid)
		return;
	exiting = true;
	if (started)
	{
		parparaw_cuda_block(&saved);
		library->stop();
		parparaw_cuda_unblock(&saved);
	}
	if (has_slot)
		parparaw_cuda_slot_free();
	has_slot = started = false;
}

void
parparaw_cuda_explain_failure(PpCudaFailure failure, const char *text,
							  PpCudaProblem *problem)
{
	if (text == NULL)
		text = "no reason given";
	switch (failure)
	{
		case PP_CUDA_UNSUPPORTED:
			fail(problem, ERRCODE_FEATURE_NOT_SUPPORTED,
				 psprintf("the cuda backend does not support this scan: %s", text), NULL,
				 "Set parparaw.backend to \"cpu\" or \"auto\".");
			return;
		case PP_CUDA_NO_MEMORY:
			fail(problem, ERRCODE_OUT_OF_MEMORY, pstrdup(text), NULL,
				 "A smaller parparaw.cuda_partition_size needs less memory; "
				 "parparaw.cuda_max_memory, divided by parparaw.cuda_max_backends, "
				 "is what a session may take.");
			return;
		case PP_CUDA_NO_DEVICE:
			fail(problem, ERRCODE_SYSTEM_ERROR,
				 psprintf("no device can be used: %s", text), NULL,
				 psprintf("Check the device and its driver with \"nvidia-smi\" "
						  "(parparaw.cuda_device is %d), "
						  "or set parparaw.backend to \"auto\" or \"cpu\".",
						  parparaw_cuda_device));
			return;
		case PP_CUDA_BROKEN:
			break;
	}
	broken = true;
	fail(problem, ERRCODE_SYSTEM_ERROR,
		 psprintf("the device failed: %s", text), NULL,
		 "Set parparaw.backend to \"cpu\" to do without it.");
}

const PpCudaLibrary *
parparaw_cuda_start(PpCudaProblem *problem)
{
	PpCudaConfig config = {sizeof(PpCudaConfig)};
	const char *message = NULL;
	sigset_t	saved;
	bool		ok;

	if (!IsUnderPostmaster && IsPostmasterEnvironment)
		return fail(problem, ERRCODE_INTERNAL_ERROR,
					"the postmaster must not use a device", NULL, NULL);
	if (exiting || (owner != 0 && owner != MyProcPid))
		return fail(problem, ERRCODE_INTERNAL_ERROR,
					"the device belongs to another process", NULL, NULL);
	if (started && !broken)
	{
		retry_at = 0;
		return library;
	}

	if (library == NULL)
	{
		library = load(problem);
		if (library == NULL)
			return NULL;
		owner = MyProcPid;
		on_proc_exit(stop, (Datum) 0);
	}
	if (started)
	{
		if (holders > 0)
			return fail(problem, ERRCODE_SYSTEM_ERROR,
						"the device has failed", NULL,
						"Close the cursors that use it, so that it can be started again.");
		parparaw_cuda_block(&saved);
		library->stop();
		parparaw_cuda_unblock(&saved);
		started = false;
	}
	if (!has_slot && !parparaw_cuda_slot_take(&budget, problem))
		return NULL;
	has_slot = true;

	config.device = parparaw_cuda_device;
	config.max_bytes = budget;
	memset(&device, 0, sizeof(device));
	parparaw_cuda_block(&saved);
	ok = library->start(&config, &device, &message);
	parparaw_cuda_unblock(&saved);
	if (!ok)
	{
		parparaw_cuda_explain_failure(library->failure(), message, problem);
		parparaw_cuda_slot_free();
		has_slot = broken = false;
		return NULL;
	}
	started = true;
	broken = false;
	retry_at = 0;
	return library;
}

const PpCudaDevice *
parparaw_cuda_device_facts(void)
{
	return &device;
}

void
parparaw_cuda_hold(void)
{
	holders++;
}

bool
parparaw_cuda_let_go(void)
{
	Assert(holders > 0);
	holders--;
	return !exiting;
}
