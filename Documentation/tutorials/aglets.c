/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tellers move money between accounts: an agent for each, and no lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dx_aglet.h>

#define ACCOUNTS 10
#define TELLERS 4
#define TRANSFERS 100

/* --- an account --- */

struct account {
	Aglet aglet;
	int balance;
};

static struct account accounts[ACCOUNTS];

static bool AccountHandles(Aglet *self, AgletMessage *message)
{
	struct account *a = (struct account *)self;

	if (AgletMessage_sameKind(message, "balance"))
		return !AgletMessage_sendReply(message, &a->balance, sizeof(a->balance));
	if (AgletMessage_sameKind(message, "withdraw")) {
		if (!a->balance)
			return false;
		a->balance--;
		return true;
	}
	if (AgletMessage_sameKind(message, "deposit")) {
		a->balance++;
		return true;
	}
	return false;
}

/* --- a teller --- */

struct teller {
	Aglet aglet;
	unsigned int seed;
};

static struct teller tellers[TELLERS];
static AgletMessage *withdraw, *deposit;

static bool TellerHandles(Aglet *self, AgletMessage *message)
{
	struct teller *t = (struct teller *)self;

	(void)message;
	for (int i = 0; i < TRANSFERS; i++) {
		AgletProxy *from, *to;

		t->seed = t->seed * 1664525 + 1013904223;
		from = accounts[(t->seed >> 16) % ACCOUNTS].aglet.Proxy;
		to = accounts[(t->seed >> 24) % ACCOUNTS].aglet.Proxy;
		if (AgletProxy_sendMessage(from, withdraw, NULL) == AGLET_REPLIED)
			AgletProxy_sendMessage(to, deposit, NULL);
	}
	return true;
}

/* --- asking all of some --- */

static int AskAll(AgletContext *context, Aglet *first, size_t size, int nr, const char *kind)
{
	AgletMessage *message = AgletMessage_create(kind, NULL, 0);
	ReplySet *set = ReplySet_create(context);
	FutureReply *future;
	int sum = 0;

	for (int i = 0; i < nr; i++) {
		Aglet *aglet = (Aglet *)((char *)first + (size_t)i * size);

		ReplySet_sendFutureMessage(set, aglet->Proxy, message, NULL);
	}
	while ((future = ReplySet_getNextFutureReply(set))) {
		AgletReply *reply = NULL;
		int balance;

		if (FutureReply_getReply(future, &reply) == AGLET_REPLIED &&
		    reply->Len == sizeof(balance)) {
			memcpy(&balance, reply->Data, sizeof(balance));
			sum += balance;
		}
		free(reply);
		FutureReply_release(future);
	}
	ReplySet_release(set);
	AgletMessage_release(message);
	return sum;
}

/* --- the program --- */

int main(int argc, char **argv)
{
	AgletContextOptions options;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	AgletContext *context;
	MTExecutive *mte;

	ThreadManagerPolicyInit(&policy);
	policy.TPMaxWaiting = 1000;
	RunSettingsInit(&settings, "bank", argc, argv);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	AgletContextOptionsInit(&options);
	options.minThreads = 1;
	options.maxThreads = TELLERS + 1;
	context = mte ? AgletContext_create(mte, &options) : NULL;
	if (!context)
		return 1;
	withdraw = AgletMessage_create("withdraw", NULL, 0);
	deposit = AgletMessage_create("deposit", NULL, 0);
	for (int i = 0; i < ACCOUNTS; i++) {
		accounts[i].aglet.handleMessage = AccountHandles;
		accounts[i].balance = 100;
		if (AgletContext_createAglet(context, &accounts[i].aglet, NULL, NULL))
			return 1;
	}
	for (int i = 0; i < TELLERS; i++) {
		tellers[i].aglet.handleMessage = TellerHandles;
		tellers[i].seed = (unsigned int)i;
		if (AgletContext_createAglet(context, &tellers[i].aglet, NULL, NULL))
			return 1;
	}
	AskAll(context, &tellers[0].aglet, sizeof(*tellers), TELLERS, "work");
	printf("total %d\n", AskAll(context, &accounts[0].aglet, sizeof(*accounts), ACCOUNTS,
				    "balance"));
	AgletContext_dispose(context);
	AgletMessage_release(withdraw);
	AgletMessage_release(deposit);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	return 0;
}
