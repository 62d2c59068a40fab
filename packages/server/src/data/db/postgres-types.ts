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
 * Translates the migrations' SQLite types to PostgreSQL's: an auto-increment key becomes a 64-bit identity column, and text
 * is compared byte by byte, which the order of ULIDs and page cursors requires whatever the database's locale.
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
