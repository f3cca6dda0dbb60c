// The scope of one plugin: everything that it may use.
import { noop } from "./defaults.ts";
import { kernelErrors } from "./errors.ts";
import type { LauncherCommand, Log, LogLine, Scope } from "./plugin.ts";
import type { PluginRun } from "./plugin-run.ts";
import { didYouMean } from "./suggest.ts";

type Services = Readonly<Record<string, unknown>>;

const pick = (services: Services, names: object): Services =>
  Object.fromEntries(Object.keys(names).map((name) => [name, services[name]]));

/**
 * For a plugin that states its needs in its type only. Reading a service that no earlier plugin
 * offers throws.
 */
function rejectUnknown(plugin: string, services: Services): Services {
  return new Proxy(services, {
    get(_, service) {
      if (typeof service === "symbol" || Object.hasOwn(services, service))
        return Reflect.get(services, service);
      throw kernelErrors.KERNEL_NEED_UNMET(
        plugin,
        service,
        didYouMean(service, Object.keys(services)),
      );
    },
  });
}

/** The methods do not use `this`, so that plugins can destructure the scope. */
export function createScope(run: PluginRun): Scope<any> {
  const { plugin, context } = run;
  const { bus, clock, lifecycle, configuration, reportFault } = context;
  const { name } = plugin;
  const services = { ...context.services };
  const send = (command: LauncherCommand): boolean => {
    if (plugin.drives !== true) throw kernelErrors.KERNEL_NOT_DRIVER(name);
    return run.canRegister && lifecycle.send(command);
  };
  const line =
    (level: keyof Log): LogLine =>
    (fields, text) =>
      context.log[level]({ plugin: name, ...fields }, text);

  return {
    needs: plugin.needs ? pick(services, plugin.needs) : rejectUnknown(name, services),
    uses: plugin.uses ? pick(services, plugin.uses) : services,
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    clock,
    lifecycle: { state: lifecycle.state, send } as Scope<any>["lifecycle"],
    configuration: (plugin.configures === true ? configuration : undefined) as never,
    random: context.random,
    config: () => configuration.value(name) as never,
    onConfig: (listener) => configuration.onConfig(name, listener),
    on(type, handler) {
      if (!run.canRegister) return;
      run.registerCleanup(bus.on(type, handler, (error) => reportFault(name, type, error)));
    },
    emit(type: string, payload: object | (() => object)) {
      if (!type.startsWith(`${name}:`)) throw kernelErrors.KERNEL_FOREIGN_FACT(name, type);
      bus.emit(type, payload);
    },
    after(ms, callback) {
      if (!run.canRegister) return noop;
      const id = clock.setTimeout(() => {
        forget();
        try {
          callback();
        } catch (error) {
          reportFault(name, "timer", error);
        }
      }, ms);
      const forget = run.registerCleanup(() => clock.clearTimeout(id));
      return () => {
        forget();
        clock.clearTimeout(id);
      };
    },
    onReady: (step) => void run.readySteps.push(step),
    onStop: (step) => void run.registerCleanup(step),
  };
}
