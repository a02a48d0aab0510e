/** The API described from the schemas that validate it: `/openapi.json` (OpenAPI 3.1) and `/docs` (running.md, "Health, metrics, API description"). */
import fastifySwagger from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import type { FastifyBaseLogger, FastifyInstance, RawReplyDefaultExpression, RawRequestDefaultExpression, RawServerDefault } from 'fastify';
import { jsonSchemaTransform, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Context } from './context.ts';
import { errorBody, validationEntry } from './problems.ts';

type Server = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, ZodTypeProvider>;

/** How every route refuses; the same for all, so no route says it. */
const REFUSALS = {
  422: { description: 'Fields that are not acceptable', ...z.toJSONSchema(z.array(validationEntry)) },
  default: { description: 'Any other refusal', ...z.toJSONSchema(errorBody) },
};

/** Registers the description; before any route it is to describe. */
export async function describeApi(app: Server, context: Context): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Parley', description: 'Real-time voice agents: agents, sessions, phone calls, tools, numbers, wallet.', version: '1' },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      security: [{ key: [] }],
    },
    transform: (route) => {
      const { schema, url } = jsonSchemaTransform(route);
      const isOpen = route.route.config?.access === 'none';
      return { schema: { ...schema, ...(isOpen ? { security: [] } : {}), response: { ...(schema.response as object), ...REFUSALS } }, url };
    },
  });
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/docs')) route.config = { ...route.config, access: 'none' };
  });
  // The bar at the top is for choosing between descriptions; there is one.
  const theme = { title: 'Parley API', css: [{ filename: 'parley.css', content: '.swagger-ui .topbar { display: none; }' }] };
  await app.register(fastifySwaggerUi, { routePrefix: '/docs', staticCSP: true, theme });
  app.get('/openapi.json', { config: { access: 'none' }, schema: { hide: true } }, () => ({
    ...app.swagger(),
    servers: [{ url: context.publicUrl() }],
  }));
}
