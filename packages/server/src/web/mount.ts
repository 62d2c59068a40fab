import { type IRouter, type Request, type RequestHandler, type Response, Router } from 'express';
import { refuseOtherMethods, routeNotFound } from './answers/responses.js';

/** Routes with a common beginning: a row of the table of routes in app.ts. */
export interface RouteGroup<Who extends string = string> {
  /** The path, or each of several, below which the routes are. */
  at: string | readonly string[];
  /** The callers they are for, which decides the guards that a request passes first. */
  who: Who;
  routes: Router;
}

/** The guards that a request passes before the routes, by the kind of caller. */
export interface Guards {
  handlers: readonly RequestHandler[];
  /**
   * Whether unknown paths and methods below a group get 404 and 405. The others leave them to the groups that follow,
   * so that a request without a key gets the same 403 for each.
   */
  areExclusive: boolean;
}

/**
 * Mounts the groups in their order. A request's label in metrics is the path of its group and the pattern of its route,
 * both of them constants: labels that were computed from URLs would let anybody create any number of them.
 */
export function mount<Who extends string>(
  app: IRouter,
  guards: Readonly<Record<Who, Guards>>,
  groups: readonly RouteGroup<Who>[],
): void {
  for (const { at, who, routes } of groups) {
    const { handlers, areExclusive } = guards[who];
    if (areExclusive) refuseOtherMethods(routes);
    for (const path of [at].flat()) {
      const note: RequestHandler = (_request, response, next) => {
        response.locals.mountedAt = path === '/' ? '' : path;
        next();
      };
      // A router per group, because Express would otherwise compare the path again for each handler.
      app.use(path, Router().use(note, ...handlers, routes, ...(areExclusive ? [routeNotFound] : [])));
    }
  }
}

/** Returns the label of a request, such as `/v1/jobs/:id`, or `other` if no route has matched. */
export function routeLabel({ route }: Pick<Request, 'route'>, { locals }: Pick<Response, 'locals'>): string {
  const [pattern]: unknown[] = [route?.path].flat();
  if (typeof pattern !== 'string') return 'other';
  return `${locals.mountedAt ?? ''}${pattern === '/' ? '' : pattern}` || '/';
}
