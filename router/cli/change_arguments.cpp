#include "router/cli/change_arguments.hpp"

namespace hecto::cli {

void add_change_verbs(CLI::App& app, Arguments& a, AddVerb add_verb) {
  CLI::App& reload = add_verb(
      app, "reload", "applies the configuration file as one transaction, or not at all",
      "Prints each change; what is wrong, or cannot change while the router runs, is named, and\n"
      "then nothing is changed (exit code 1).");
  add_option(reload, "FILE", a.object, " ", "without one, that which runs is read again");
  add_option(reload, "--confirm", a.confirm, "TIME",
             "what ran before comes back by itself after so long (90s, 5m, 1h), unless\n"
             "hecto confirm comes first");
  CLI::App& diff = add_verb(
      app, "diff", "what a reload would change, or why it would be refused; nothing is changed",
      "One line a change, as hecto reload prints them.");
  add_option(diff, "FILE", a.object, " ", "without one, that which runs is read again");
  add_verb(app, "confirm", "keeps what hecto reload --confirm brought",
           "Silent, and exit code 0, when it is kept; exit code 1 when nothing waits for it.");
  add_verb(app, "rollback", "back to the configuration that ran before the last reload",
           "One step, and once. The file on disk stays as it is: the next reload, or restart, "
           "reads it.");
  CLI::App& route =
      add_verb(app, "route", "add, delete: one route of origin api more, or less", "");
  add_option(route, "WORDS", a.words, " ", "one of the forms below")->required();
  route.add_flag("--all", a.all, "deletes what `route add` and `load-routes` brought");
  route.add_flag("--persist", a.persist, "with add: the route is there again after a restart");
  CLI::App& set =
      add_verb(app, "set", "add, delete: prefixes of a set that filters name, at once", "");
  add_option(set, "WORDS", a.words, " ", "one of the forms below")->required();
  CLI::App& flow = add_verb(app, "flow", "add, delete, load: entries of the flow table", "");
  add_option(flow, "WORDS", a.words, " ", "one of the forms below")->required();
  flow.add_flag("--all", a.all, "deletes every entry");
  CLI::App& load = add_verb(
      app, "load-routes",
      "loads a whole table as one transaction: list of prefixes, bgpdump -m text, MRT", "");
  add_option(load, "FILE", a.object, " ",
             "list of prefixes, bgpdump -m text, or MRT (TABLE_DUMP_V2); also gzipped;\n"
             "- reads standard input")
      ->required();
  add_option(load, "--via", a.via, "GW,...",
             "the next hop of all routes; several: ECMP; fe80::1%lan0 names an\ninterface");
  add_option(load, "--metric", a.metric, "N", "of all routes (default 0)");
  load.add_flag("--replace", a.replace,
                "deletes the routes of origin api that the file does not hold");
  load.add_flag("--skip-bad", a.skip_bad,
                "loads what is good of a damaged file and tells each bad line or record;\n"
                "without it a file that is malformed anywhere, or cut off, changes nothing");
}

}  // namespace hecto::cli
