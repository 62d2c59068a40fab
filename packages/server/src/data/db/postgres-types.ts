import {
  type ColumnDefinitionNode,
  type DataTypeNode,
  GeneratedNode,
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryId,
  type QueryResult,
  RawNode,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely';

/**
 * Says in PostgreSQL's types what the migrations say in SQLite's: a counted key is an identity column of 64 bits, and text
 * is compared byte by byte, as the order of ULIDs and page cursors needs it whatever the database's locale is.
 */
export class PostgresTypes implements KyselyPlugin {
  readonly #transformer = new TypeTransformer();

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(node, queryId);
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result;
  }
}

class TypeTransformer extends OperationNodeTransformer {
  protected override transformColumnDefinition(node: ColumnDefinitionNode, queryId?: QueryId): ColumnDefinitionNode {
    const column = super.transformColumnDefinition(node, queryId);
    if (column.autoIncrement) {
      return {
        ...column,
        autoIncrement: false,
        dataType: RawNode.createWithSql('bigint'),
        generated: GeneratedNode.create({ identity: true, byDefault: true }),
      };
    }
    return isText(column.dataType) ? { ...column, dataType: RawNode.createWithSql('text collate "C"') } : column;
  }
}

const isText = (type: ColumnDefinitionNode['dataType']): boolean =>
  type.kind === 'DataTypeNode' && (type as DataTypeNode).dataType === 'text';
